package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestStartLostInAFailover: while a caller waits for the run that it has started, a replica that had not heard of the run takes over. The caller is told that
// the start may have been carried out and when to ask again, and not that there never was such a run.
func TestStartLostInAFailover(t *testing.T) {
	first, replica := redistest.Start(t), redistest.Start(t)
	d := mustServeAway(t, first.URL())
	old, promoted := redis.NewClient(&redis.Options{Addr: first.Addr}), redis.NewClient(&redis.Options{Addr: replica.Addr})
	t.Cleanup(func() { old.Close(); promoted.Close() })
	follows := func(follower *redis.Client, address string) {
		t.Helper()
		host, port, _ := strings.Cut(address, ":")
		if err := follower.SlaveOf(t.Context(), host, port).Err(); err != nil {
			t.Fatal(err)
		}
		for t.Context().Err() == nil {
			if is, _ := follower.Info(t.Context(), "replication").Result(); strings.Contains(is, "master_link_status:up") {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := follower.SlaveOf(t.Context(), "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
	}
	follows(promoted, first.Addr)
	answered := make(chan answer, 1)
	go func() {
		answered <- d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/nap", "id": "lost"}`, "Prefer", "wait=240")
	}()
	for t.Context().Err() == nil && d.ask(t, "GET", "/v1/runs/demo/lost", "").StatusCode != http.StatusOK {
		time.Sleep(time.Millisecond)
	}
	follows(old, replica.Addr) // who was the first one joins, and forgets what the other has not
	a := <-answered
	if p := mustRead[api.Problem](t, a, http.StatusServiceUnavailable); p.Applied != api.AppliedMaybe || a.Header.Get("Retry-After") == "" {
		t.Errorf("got %v %s", a.Header, a.body)
	}
}
