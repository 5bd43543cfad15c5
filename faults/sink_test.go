package faults

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// sink is the outside: it notes every request before it answers.
type sink struct {
	url   string
	delay time.Duration

	mu       sync.Mutex
	requests map[string][]request // by idempotency key
}

// request is one request that has arrived.
type request struct {
	path    string
	attempt string
	at      time.Time
	key     string // of X-Key, or the password of basic authentication
}

func startSink(t *testing.T, delay time.Duration) *sink {
	t.Helper()
	s := &sink{delay: delay, requests: map[string][]request{}}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shown := r.Header.Get("X-Key")
	if _, password, ok := r.BasicAuth(); ok {
		shown = password
	}
	s.note(r.Header.Get("Idempotency-Key"), request{r.URL.Path, r.Header.Get("X-Swrun-Attempt"), time.Now(), shown})
	if !s.take(r.Context()) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"path": r.URL.Path})
}

// note notes what has arrived.
func (s *sink) note(key string, r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[key] = append(s.requests[key], r)
}

// take takes the time that an answer takes, and reports whether somebody still waits for it then.
func (s *sink) take(ctx context.Context) bool {
	select {
	case <-time.After(s.delay):
		return true
	case <-ctx.Done():
		return false
	}
}

// counts returns how many keys there were, and how many requests beyond the first of each.
func (s *sink) counts() (keys, again int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.requests {
		keys++
		again += len(all) - 1
	}
	return keys, again
}
