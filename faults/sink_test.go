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

// sink is the outside: it records every request before it answers.
type sink struct {
	url   string
	delay time.Duration

	mu       sync.Mutex
	requests map[string][]request // by idempotency key
	held     chan struct{}        // see hold
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
	held := s.note(r.Header.Get("Idempotency-Key"), request{r.URL.Path, r.Header.Get("X-Swrun-Attempt"), time.Now(), shown})
	if !s.take(r.Context(), held) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"path": r.URL.Path})
}

// hold lets the first request of each new key wait for the release of the next hold. It returns the release of the requests that were held until now.
func (s *sink) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.held
	s.held = make(chan struct{})
	return func() {
		if before != nil {
			close(before)
		}
	}
}

// release ends hold: no request is held any more.
func (s *sink) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// note records a request. It returns the channel that the answer must wait for, or nil.
func (s *sink) note(key string, r request) (held <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[key] = append(s.requests[key], r)
	if len(s.requests[key]) > 1 {
		return nil
	}
	return s.held
}

// take waits for the duration of an answer, and reports whether the client still waits for it.
func (s *sink) take(ctx context.Context, held <-chan struct{}) bool {
	delay := time.After(s.delay)
	for held != nil || delay != nil {
		select {
		case <-held:
			held = nil
		case <-delay:
			delay = nil
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// counts returns the number of keys, and of requests beyond the first of each key.
func (s *sink) counts() (keys, again int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.requests {
		keys++
		again += len(all) - 1
	}
	return keys, again
}
