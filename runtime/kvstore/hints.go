package kvstore

import (
	"context"
	"sync"
)

// hints tells the workers of this process in which partitions something has become ready.
type hints struct {
	mu        sync.Mutex
	listeners []chan int
}

// send tells everyone who is listening and not far behind.
func (h *hints) send(partition int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.listeners {
		select {
		case c <- partition:
		default: // it polls anyway
		}
	}
}

// Hints implements runtime.Reader.
func (s *Store) Hints(ctx context.Context) <-chan int {
	c := make(chan int, 256)
	s.hints.mu.Lock()
	s.hints.listeners = append(s.hints.listeners, c)
	s.hints.mu.Unlock()
	context.AfterFunc(ctx, func() { s.hints.remove(c) })
	return c
}

func (h *hints) remove(c chan int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, other := range h.listeners {
		if other == c {
			h.listeners = append(h.listeners[:i], h.listeners[i+1:]...)
			close(c)
			return
		}
	}
}
