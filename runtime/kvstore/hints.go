package kvstore

import (
	"context"
	"sync"

	"github.com/swrun/swrun/runtime/store"
)

// hints reports to the workers of this process in which partitions something has become ready.
type hints struct {
	mu        sync.Mutex
	listeners []chan store.Hint
}

// send sends to all listeners that have room for a hint.
func (h *hints) send(hint store.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.listeners {
		select {
		case c <- hint:
		default: // it polls anyway
		}
	}
}

// Hints implements store.Reader.
func (s *Store) Hints(ctx context.Context) <-chan store.Hint {
	c := make(chan store.Hint, 256)
	s.hints.mu.Lock()
	s.hints.listeners = append(s.hints.listeners, c)
	s.hints.mu.Unlock()
	context.AfterFunc(ctx, func() { s.hints.remove(c) })
	return c
}

func (h *hints) remove(c chan store.Hint) {
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
