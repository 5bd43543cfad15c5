//go:build unix

package main

import (
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestStoreFarAhead: the clock of a Redis was in the year 5138 for a moment, and the store's time goes on from there. A schedule starts its runs by that time,
// and the server ends when it is told to.
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
	h.signal(cmd, syscall.SIGTERM)
	_ = cmd.Wait() // its exit code is not looked at
}
