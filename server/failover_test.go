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

// TestStartLostInAFailover: the store loses a run while the caller of its start waits for it: a replica without the run takes over, or the written
// data is gone. The caller gets the answer that the start may have been carried out, with the time of the next attempt, and no answer that the run
// never existed.
func TestStartLostInAFailover(t *testing.T) {
	for name, loses := range map[string]func(t *testing.T, first *redis.Client, replica string){
		"a replica takes over": func(t *testing.T, first *redis.Client, replica string) { follow(t, first, replica) },
		"it is not there": func(t *testing.T, first *redis.Client, _ string) {
			keys, err := first.Keys(t.Context(), "*demo/lost*").Result()
			if err != nil || len(keys) == 0 {
				t.Fatal(keys, err)
			}
			if err := first.Del(t.Context(), keys...).Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, replica := redistest.Start(t), redistest.Start(t)
			d := mustServeAway(t, first.URL())
			old, promoted := redis.NewClient(&redis.Options{Addr: first.Addr}), redis.NewClient(&redis.Options{Addr: replica.Addr})
			t.Cleanup(func() { old.Close(); promoted.Close() })
			follow(t, promoted, first.Addr)
			answered := make(chan answer, 1)
			go func() {
				answered <- d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/nap", "id": "lost"}`, "Prefer", "wait=240")
			}()
			for t.Context().Err() == nil && d.ask(t, "GET", "/v1/runs/demo/lost", "").StatusCode != http.StatusOK {
				time.Sleep(time.Millisecond)
			}
			loses(t, old, replica.Addr)
			a := <-answered
			if p := mustRead[api.Problem](t, a, http.StatusServiceUnavailable); p.Applied != api.AppliedMaybe || a.Header.Get("Retry-After") == "" {
				t.Errorf("got %v %s", a.Header, a.body)
			}
		})
	}
}

// follow makes a server drop its data, replicate another server, and then continue alone.
func follow(t *testing.T, follower *redis.Client, address string) {
	t.Helper()
	host, port, _ := strings.Cut(address, ":")
	if err := follower.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil {
		if is, _ := follower.Info(t.Context(), "replication").Result(); strings.Contains(is, "master_link_status:up") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := follower.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
}
