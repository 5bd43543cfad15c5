//go:build unix

package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestStoreFarAhead: the clock of a Redis was in the year 5138 for a moment, and the store's time continues from there. A schedule starts its runs by
// that time, doctor, health and the log report it, and the server ends on a signal. The remedy of docs/operating.md corrects the store.
func TestStoreFarAhead(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL() + "?partitions=1"}
	h.exits(exitOK, "deploy", mustWriteFile(t, "tick.yaml", `
document: {dsl: 1.0.3, namespace: demo, name: tick, version: 1.0.0}
schedule: {every: PT30S}
do: [{a: {set: {n: 1}}}]`))
	redistest.EditTime(t, client, "swrun:{swrun:0}:time", func(m *redistest.Time) { m.Written = 99_999_999_999_999 })
	cmd, s := h.started("listening on", "serve", "--listen", "127.0.0.1:0")
	s.err.until(t, "a run has ended: completed")
	s.err.until(t, "the store's time differs from the time of this machine")
	h.answers(s, "/v1/health", http.StatusOK, "SD004")
	contains(t, h.exits(exitOK, "doctor"), "A store that is ahead")
	h.signal(cmd, syscall.SIGTERM)
	_ = cmd.Wait() // its exit code is irrelevant

	redistest.EditTime(t, client, "swrun:{swrun:0}:time", func(m *redistest.Time) { m.Written, m.Offset = 0, 0 })
	contains(t, h.exits(exitOK, "doctor"), "the store's clock agrees")
	contains(t, h.exits(exitOK, "schedule", "ls", "-o", "json"), "5138-")
	h.exits(exitOK, "schedule", "pause", "demo/tick")
	h.exits(exitOK, "schedule", "resume", "demo/tick")
	if out := h.exits(exitOK, "schedule", "ls", "-o", "json"); !strings.Contains(out, `"next":`) || strings.Contains(out, `"next":"5138-`) || strings.Contains(out, `"next": "5138-`) {
		t.Errorf("the schedule is %s", out)
	}
}
