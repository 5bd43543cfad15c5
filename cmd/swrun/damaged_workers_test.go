package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestDamagedWorkers: commands about runs and queues work despite a damaged entry of a worker, and the worker replaces the entry.
func TestDamagedWorkers(t *testing.T) {
	for _, text := range []string{"rubbish", "", "1 0 x rubbish", "1 0 x 1 [", "list"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			h, client := deployedOnRedis(t)
			h.exits(exitOK, "start", "demo/nap", "--id", "one")
			s := h.listening("serve", "--listen", "127.0.0.1:0")
			h.until("waiting for the timer", "describe", "one")
			h.until("default", "workers")
			overwriteKey(t, client, "*:e:workers:*", text)
			h.answers(s, "/v1/runs/demo/one", http.StatusOK, "waiting")
			h.answers(s, "/v1/workers", http.StatusOK, "")
			h.answers(s, "/v1/queues", http.StatusOK, "")
			if code, out := h.says("doctor"); code != exitStore || !strings.Contains(out, "workers") {
				t.Errorf("doctor ends with %d: %s", code, out)
			}
			h.until("default", "workers")
			h.exits(exitOK, "cancel", "one")
			h.exits(exitCancelled, "wait", "one")
			h.exits(exitOK, "delete", "one", "--yes")
		})
	}
}
