package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestStrayActivities: members of a queue in Redis that name no activity do not disturb workers that poll the queue.
func TestStrayActivities(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL() + "?partitions=1"}
	h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.exits(exitOK, "start", "demo/outside", "--id", "one")
	var queues []string
	for ; len(queues) == 0; time.Sleep(10 * time.Millisecond) {
		queues = client.Keys(t.Context(), "swrun:{swrun:0}:q:*").Val()
	}
	for n := range 250 {
		client.ZAdd(t.Context(), queues[0], redis.Z{Score: 1, Member: fmt.Sprint("rubbish ", n)})
	}
	one := h.taken(s)
	h.posts(s, "complete", `{"token": "`+one.Token+`", "result": 2}`, http.StatusNoContent)
	contains(t, h.exits(exitOK, "output", "one", "--wait"), "2")
	contains(t, h.exits(exitOK, "doctor"), "250 repairs")
}
