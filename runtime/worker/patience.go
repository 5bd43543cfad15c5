package worker

import "sync"

// patience says for which activities the runs of a worker linger. Where they lingered in vain, they do it ever more rarely.
type patience struct {
	begun *limiter

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

// Lingers implements execution.Patience. Runs that linger take at most half of the room for those that have begun.
func (p *patience) Lingers(queue string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.queues[queue]
	if w.skip > 0 {
		w.skip--
		p.queues[queue] = w
		return false
	}
	return 2*len(p.begun.slots) < cap(p.begun.slots)
}

// Ended implements execution.Patience.
func (p *patience) Ended(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.queues, queue)
}

// InVain implements execution.Patience.
func (p *patience) InVain(queue string) {
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
