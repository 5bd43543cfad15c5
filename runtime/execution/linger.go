package execution

import (
	"sync"
	"time"
)

// A run lingers: it stays in memory for a moment after it has had an activity scheduled. If that ends meanwhile, its end is stored with
// what the run does next, and nobody has to claim the run.

// Patience says for which activities runs linger. Where they lingered in vain, they do it ever more rarely. An owner has one for all of
// its runs; several goroutines may use it.
type Patience struct {
	// Room reports whether there is memory for one more run that lingers.
	Room func() bool

	mu     sync.Mutex
	queues map[string]waits
}

// waits is what is known of the activities of a queue.
type waits struct {
	vain int // in a row
	skip int // so many activities are not waited for
}

const (
	// maxSkip is how many activities of a queue are not waited for, at most, before one is again.
	maxSkip = 64
	// maxPatience bounds of how many queues is known how long their activities take.
	maxPatience = 1000
)

// lingers reports whether a run is to wait for an activity of a queue.
func (p *Patience) lingers(queue string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.queues[queue]
	if w.skip > 0 {
		w.skip--
		p.queues[queue] = w
		return false
	}
	return p.Room()
}

// ended notes that an activity of a queue has ended while its run was waiting.
func (p *Patience) ended(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.queues, queue)
}

// inVain notes that a run has waited in vain for activities of a queue.
func (p *Patience) inVain(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues == nil || len(p.queues) >= maxPatience {
		p.queues = map[string]waits{}
	}
	w := p.queues[queue]
	w.vain++
	w.skip = min(1<<min(w.vain, 10), maxSkip)
	p.queues[queue] = w
}

// linger keeps the run in memory for a moment, since an activity of a queue is scheduled.
func (x *Execution) linger(queue string) {
	if x.Patience != nil && !x.draining && x.Patience.lingers(queue) {
		x.lingerUntil = x.Clock().Add(x.ParkAfter)
	}
}

// lingers reports whether the run stays in memory although nothing is to be done.
func (x *Execution) lingers(now time.Time) bool {
	if len(x.activities) == 0 || x.lingerUntil.IsZero() || x.draining {
		return false
	}
	if now.Before(x.lingerUntil) {
		return true
	}
	x.lingerUntil = time.Time{}
	for _, queue := range x.activities {
		x.Patience.inVain(queue)
	}
	return false
}
