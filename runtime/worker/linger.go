package worker

import "sync"

// lingerPolicy decides for which activities the runs of a worker linger. After lingering in vain they linger less often.
type lingerPolicy struct {
	begun *limiter

	mu     sync.Mutex
	queues map[string]waits
}

// waits is the experience with the activities of a queue.
type waits struct {
	vain int // in a row
	skip int // number of activities without lingering
}

const (
	// maxSkip is how many activities of a queue are not waited for, at most, before one is again.
	maxSkip = 64
	// maxLingerQueues bounds of how many queues is known how long their activities take.
	maxLingerQueues = 1000
)

// Lingers implements execution.LingerPolicy. Lingering runs take at most half of the room for begun runs.
func (p *lingerPolicy) Lingers(queue string) bool {
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

// Ended implements execution.LingerPolicy.
func (p *lingerPolicy) Ended(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.queues, queue)
}

// InVain implements execution.LingerPolicy.
func (p *lingerPolicy) InVain(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues == nil || len(p.queues) >= maxLingerQueues {
		p.queues = map[string]waits{}
	}
	w := p.queues[queue]
	w.vain++
	w.skip = min(1<<min(w.vain, 10), maxSkip)
	p.queues[queue] = w
}
