package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestAppliedChangeOfQueue: a change of a queue is applied although the rules of another queue are damaged. The command succeeds, prints the new rules,
// and warns that the rest is not known.
func TestAppliedChangeOfQueue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h, client := &hosted{t, server.URL()}, redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	h.exits(exitOK, "queue", "limit", "other", "--concurrency", "2")
	mustSetEntry(t, client, "queues:rules/other", "1 0 x 1 []")
	for _, c := range []struct{ verb, prints string }{
		{"queue limit q --concurrency 3", "3 at a time"},
		{"queue pause q", "paused"},
		{"queue resume q", "3 at a time"},
		{"queue limit q --concurrency 4 -o json", `"concurrency":4`},
	} {
		code, out := h.says(c.verb)
		if code != exitOK || !strings.Contains(out, c.prints) || !strings.Contains(out, "the change is applied") || !strings.Contains(out, "the entry rules/other of queues cannot be read") {
			t.Errorf("%s ends with %d:\n%s", c.verb, code, out)
		}
	}
	h.exits(exitOK, "queue", "limit", "other", "--concurrency", "2", "--replace")
	if _, out := h.says("queue limit q --concurrency 3"); strings.Contains(out, "warning") {
		t.Errorf("all can be read, and the command prints:\n%s", out)
	}
}
