package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

const layoutKey = "swrun:{swrun}:layout"

// holdingData returns a Redis with a deployment of five partitions that contains a number of runs.
func holdingData(t *testing.T, runs int) (*hosted, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	(&hosted{t, server.URL() + "?partitions=5"}).exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h := &hosted{t, server.URL()}
	for n := range runs {
		h.exits(exitOK, "start", "demo/nap", "--id", fmt.Sprint("run-", n))
	}
	return h, client
}

// TestLostLayout: a deployment whose layout was deleted is refused, also if it has no run, and no other layout is written. The remedy works.
func TestLostLayout(t *testing.T) {
	t.Parallel()
	for runs, says := range map[int]string{
		0:  `'{"Deployment":"swrun","Partitions":N,"Schema":2}', where N is the number of partitions of the deployment: 64, unless`,
		1:  `'{"Deployment":"swrun","Partitions":N,"Schema":2}', where N is the number of partitions that the --store named`,
		30: `'{"Deployment":"swrun","Partitions":5,"Schema":2}' (its runs stand where this number of partitions puts them)`,
	} {
		h, client := holdingData(t, runs)
		kept := client.Get(t.Context(), layoutKey).Val()
		client.Del(t.Context(), layoutKey)
		for _, args := range []string{"ls", "deploy " + mustWriteFile(t, "nap.yaml", napText), "worker", "serve --listen 127.0.0.1:0", "doctor", "repair"} {
			code, out := h.says(args)
			if code != exitStore || !strings.Contains(out, layoutKey) || !strings.Contains(out, "put the key back: redis-cli SET '"+layoutKey+"' "+says) {
				t.Fatalf("of %d runs: %s ends with %d: %s", runs, args, code, out)
			}
		}
		if text, err := client.Get(t.Context(), layoutKey).Result(); err == nil {
			t.Errorf("somebody has written the layout %s", text)
		}
		if runs == 30 {
			client.Set(t.Context(), layoutKey, `{"Deployment":"swrun","Partitions":5,"Schema":2}`, 0)
			if now := client.Get(t.Context(), layoutKey).Val(); now != kept {
				t.Errorf("the layout was %s, and the remedy writes %s", kept, now)
			}
			contains(t, h.exits(exitOK, "ls", "--count"), "30")
		}
	}
}

// TestLostLayoutOfServedStore: a server whose deployment loses its layout, or gets another one, reports it with the command that restores the layout,
// and continues.
func TestLostLayoutOfServedStore(t *testing.T) {
	t.Parallel()
	h, client := holdingData(t, 2)
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	kept := client.Get(t.Context(), layoutKey).Val()
	for _, text := range []string{"", "rubbish", `{"Deployment":"swrun","Partitions":7,"Schema":2}`, "list"} {
		if client.Del(t.Context(), layoutKey); text == "list" {
			client.LPush(t.Context(), layoutKey, text)
		} else if text != "" {
			client.Set(t.Context(), layoutKey, text, 0)
		}
		h.answers(s, "/v1/health", http.StatusServiceUnavailable, `"code":"SD019","fix":"put the key back: redis-cli SET '`+layoutKey+`' '`+strings.ReplaceAll(kept, `"`, `\"`))
		h.answers(s, "/metrics", http.StatusOK, `swrun_store_unwell{reason="damaged"} 1`)
		h.answers(s, "/readyz", http.StatusOK, "")
		h.answers(s, "/v1/runs/demo/run-1", http.StatusOK, "waiting")
		s.err.until(t, layoutKey)
		client.Del(t.Context(), layoutKey)
		client.Set(t.Context(), layoutKey, kept, 0)
		h.answers(s, "/v1/health", http.StatusOK, "")
		s.err.until(t, "no part of the store is damaged any more")
	}
}
