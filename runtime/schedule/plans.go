package schedule

import "sync"

// plans are the plans that were used of late, by the digests of their definitions.
type plans struct {
	mu sync.Mutex
	// A plan that is used is in now. When that is full, it becomes before, and the plans that were in before until then are dropped.
	now, before map[string]*plan
	bytes       int // of the plans in now
}

// One of the two maps holds maxPlans plans at most. The documents that were compiled for them have maxPlanBytes together, since a compiled document
// takes many times the memory of its text. A plan that has more alone is the only one in its map.
const (
	maxPlans     = 10_000
	maxPlanBytes = 8 << 20
)

// of returns the plan of a definition; nil if it is not kept.
func (p *plans) of(digest string) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.now[digest]; known != nil {
		return known
	}
	known := p.before[digest]
	if known != nil {
		p.add(known)
	}
	return known
}

// keep keeps a plan.
func (p *plans) keep(one *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now[one.digest] == nil {
		p.add(one)
	}
}

func (p *plans) add(one *plan) {
	size := one.size()
	if p.now == nil || len(p.now) == maxPlans || p.bytes+size > maxPlanBytes {
		p.now, p.before, p.bytes = map[string]*plan{}, p.now, 0
	}
	p.now[one.digest] = one
	p.bytes += size
}

// size returns how many bytes a plan counts for: the texts that it is made of.
func (p *plan) size() int {
	size := len(p.digest) + len(p.workflow.String())
	for _, t := range p.timers {
		size += len(t.text)
	}
	if p.trigger != nil {
		size += p.trigger.bytes
	}
	return size
}
