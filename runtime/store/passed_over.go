package store

import "sync"

// PassedOver contains the runs of a partition that this process could not claim, promote or remove, since a newer build has written them.
// They stay in their places for newer workers, and would hide the runs behind them: a poll reads past them, and offers them last.
type PassedOver struct {
	mu   sync.Mutex
	runs map[Instance]bool
}

// maxPassedOver limits the number of these runs, and so how far a poll reads.
const maxPassedOver = 10_000

// Add adds a run.
func (p *PassedOver) Add(i Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[Instance]bool{}
	}
	if len(p.runs) < maxPassedOver {
		p.runs[i] = true
	}
}

// Remove removes a run that was claimed.
func (p *PassedOver) Remove(i Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, i)
}

// Len returns the number of runs.
func (p *PassedOver) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.runs)
}

// Retry removes any run: with each poll one of them is tried again, so that the runs that are gone or have become readable leave.
func (p *PassedOver) Retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.runs {
		delete(p.runs, i)
		return
	}
}

// Has reports whether a run was passed over.
func (p *PassedOver) Has(i Instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[i]
}

// Split returns the runs that were passed over, and the others.
func (p *PassedOver) Split(all []Instance) (others, passed []Instance) {
	if p.Len() == 0 {
		return all, nil
	}
	for _, i := range all {
		if p.Has(i) {
			passed = append(passed, i)
		} else {
			others = append(others, i)
		}
	}
	return others, passed
}

// Leave leaves at most n runs of each kind in the work of a poll. The runs that were passed over are the last.
func (p *PassedOver) Leave(n int, w *Work) {
	leave := func(all []Instance) []Instance {
		others, passed := p.Split(all)
		all = append(others, passed...)
		return all[:min(n, len(all))]
	}
	w.Begun, w.New, w.Due, w.Expired = leave(w.Begun), leave(w.New), leave(w.Due), leave(w.Expired)
	for k := range w.Ended {
		w.Ended[k].Instances = leave(w.Ended[k].Instances)
	}
}
