package expr

import "sync"

// Places bound how many evaluations build much data at the same time, and thereby the memory that evaluations take together. Evaluations that wait for a
// place get one in turn by namespace, so that a namespace with many of them delays the others little. A Places is safe for concurrent use.
type Places struct {
	mu      sync.Mutex
	free    int
	waiting map[string][]chan struct{} // by namespace, the longest waiting first
	turns   []string                   // the namespaces of waiting, the next one first
}

// NewPlaces returns n places; n is at least 1.
func NewPlaces(n int) *Places { return &Places{free: n, waiting: map[string][]chan struct{}{}} }

// Place says how an evaluation gets one of Places. The zero value bounds nothing.
type Place struct {
	Of        *Places // nil for no bound
	Namespace string
	Waits     func(is bool) // called before and after a wait; may be nil
}

// Placed is an Env with places. An evaluation takes one of them when it has built more than unplacedBytes, and leaves it when it ends: small
// evaluations never wait. The wait is limited, because the budget of each evaluation is limited, and evaluations with a place wait for nothing.
type Placed interface{ Place() Place }

// unplacedBytes is the size of the data, as a meter counts it, that an evaluation builds without a place.
const unplacedBytes = 1 << 20

// place takes a place if the evaluation needs one and has none.
func (m *meter) place() {
	if m.placed || m.alloc > defaultLimits().alloc-unplacedBytes {
		return
	}
	m.placed = true
	if in, ok := m.env.(Placed); ok {
		at := in.Place()
		if m.places = at.Of; m.places != nil {
			at.take()
		}
	}
}

// leave leaves the place of the evaluation, if it has one.
func (m *meter) leave() {
	if m.places != nil {
		m.places.leave()
		m.places = nil
	}
}

// take takes a place, and waits for it if none is free.
func (a Place) take() {
	turn := a.Of.enter(a.Namespace)
	if turn == nil {
		return
	}
	if a.Waits != nil {
		a.Waits(true)
		defer a.Waits(false)
	}
	<-turn
}

// enter takes a free place, or returns a channel that is closed when the evaluation has a place.
func (p *Places) enter(namespace string) (turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free > 0 { // then nobody waits
		p.free--
		return nil
	}
	if len(p.waiting[namespace]) == 0 {
		p.turns = append(p.turns, namespace)
	}
	turn = make(chan struct{})
	p.waiting[namespace] = append(p.waiting[namespace], turn)
	return turn
}

// leave gives a place to the first evaluation of the next namespace.
func (p *Places) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.turns) == 0 {
		p.free++
		return
	}
	next := p.turns[0]
	p.turns = p.turns[1:]
	all := p.waiting[next]
	close(all[0])
	if all = all[1:]; len(all) > 0 {
		p.waiting[next], p.turns = all, append(p.turns, next)
	} else {
		delete(p.waiting, next)
	}
}
