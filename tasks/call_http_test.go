package tasks_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

// TestIdempotencyKey: the same for every attempt of one occurrence, another for each pass of a loop.
func TestIdempotencyKey(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf(`  - loop:
      for: { in: '[1, 2]' }
      do:
        - t:
            try:
              - ask: { call: http, with: { method: get, endpoint: '%s' } }
            catch: { retry: { limit: { attempt: { count: 1 } } } }
`, server.URL))
	if outcome.Status != interpreter.StatusCompleted || len(keys) != 3 {
		t.Fatalf("the run is %s: %v, after the requests %q", outcome.Status, outcome.Fault, keys)
	}
	if keys[0] == "" || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("got the keys %q", keys)
	}
}

// TestLargeResponse: at most 10 MiB are read.
func TestLargeResponse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("x", 1<<20))
		for range 11 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf("  - ask: { call: http, with: { method: get, endpoint: '%s' } }\n", server.URL))
	if outcome.Fault == nil || !strings.Contains(outcome.Fault.Detail, "more than the 10 MiB") {
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
}

// TestTLS: calls use it, and refuse a certificate of an unknown authority.
func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	defer server.Close()
	document := fmt.Sprintf("  - ask: { call: http, with: { method: get, endpoint: '%s' } }\n", server.URL)
	if outcome := runDocument(t, tasks.Config{Transport: server.Client().Transport}, document); outcome.Output != "hello" {
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	if outcome := runDocument(t, tasks.Config{}, document); outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Communication) {
		t.Errorf("the run is %s with %v", outcome.Status, outcome.Output)
	}
}
