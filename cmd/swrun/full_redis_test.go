package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestStartsOnAFullRedis: a start on a Redis without memory is refused with the same remedy, whether the run exists or not, by the command and by the API.
func TestStartsOnAFullRedis(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL()}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	const remedy = "raise maxmemory, or let workers delete old runs"
	memory := func(bytes string) {
		t.Helper()
		if err := client.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, there := range []string{"no run", "a run"} {
		s := h.listening("serve", "--listen", "127.0.0.1:0")
		s.err.until(t, "the worker is ready")
		memory("1mb")
		h.answers(s, "/v1/health", http.StatusServiceUnavailable, `"code":"SD003"`)
		answer, said := h.asks(s, http.MethodPost, "/v1/runs", `{"workflow": "demo/nap", "id": "asked"}`)
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(said, remedy) || !strings.Contains(said, `"applied":"no"`) {
			t.Errorf("with %s: %d %s", there, answer.StatusCode, said)
		}
		for _, target := range []string{"", " --server " + s.url} {
			if code, out := h.says("start demo/nap --id said" + target); code != exitStore || !strings.Contains(out, remedy) {
				t.Errorf("with %s, start%s ends with %d:\n%s", there, target, code, out)
			}
		}
		memory("0")
		if there == "no run" {
			h.exits(exitOK, "start", "demo/nap", "--id", "one")
		}
	}
}
