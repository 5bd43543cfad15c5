package kvstore

import (
	"context"
	"slices"
	"sync"
)

// attendance contains the present workers of this process. No other process uses the store.
type attendance struct {
	mu   sync.Mutex
	here map[string]int
}

func (a *attendance) add(worker string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.here == nil {
		a.here = map[string]int{}
	}
	if a.here[worker] += n; a.here[worker] == 0 {
		delete(a.here, worker)
	}
}

// Attend implements store.Presence.
func (s *Store) Attend(_ context.Context, worker string) (leave func()) {
	s.attendance.add(worker, 1)
	return func() { s.attendance.add(worker, -1) }
}

// Attended reports whether any worker is there.
func (s *Store) Attended() bool {
	s.attendance.mu.Lock()
	defer s.attendance.mu.Unlock()
	return len(s.attendance.here) > 0
}

// Attending implements store.Presence.
func (s *Store) Attending(_ context.Context, workers []string) ([]string, error) {
	s.attendance.mu.Lock()
	defer s.attendance.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(workers), func(name string) bool { return s.attendance.here[name] == 0 }), nil
}
