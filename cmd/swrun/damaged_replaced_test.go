package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestReplacesDamagedEntry: a change of unreadable rules or settings is refused, and the error contains the command that sets them anew. The answer of
// that command names the lost values.
func TestReplacesDamagedEntry(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "runs.db")
		(&hosted{t, "file:" + path}).replacesDamaged("1 0 ", func(entry, text string) {
			overwriteEntry(t, path, "registry/"+entry, []byte(text))
		})
	})
	for name, at := range map[string]func() (url string, addr string){
		"Redis": func() (string, string) { server := redistest.Start(t); return server.URL(), server.Addr },
		"Cluster": func() (string, string) {
			url := redistest.Cluster(t, 3)
			addr, _, _ := strings.Cut(strings.TrimPrefix(url, "redis+cluster://"), "?")
			return url, addr
		},
	} {
		url, addr := at()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{addr}, IsClusterMode: name == "Cluster", DisableIdentity: true})
			t.Cleanup(func() { _ = client.Close() })
			(&hosted{t, url}).replacesDamaged("1 0 x ", func(entry, text string) {
				mustSetEntry(t, client, strings.Replace(entry, "/", ":", 1), text)
			})
		})
	}
}

// mustSetEntry overwrites the text of an entry in the partition that contains it.
func mustSetEntry(t *testing.T, client redis.UniversalClient, entry, text string) {
	t.Helper()
	for p := range 256 {
		key := fmt.Sprintf("swrun:{swrun:%d}:e:%s", p, entry)
		if client.Exists(t.Context(), key).Val() > 0 {
			if err := client.Set(t.Context(), key, text, 0).Err(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no partition contains the entry %s", entry)
}

func (h *hosted) replacesDamaged(envelope string, damage func(entry, text string)) {
	h.Helper()
	for _, c := range []struct{ entry, set, replace, hint string }{
		{"queues/rules/q", "queue limit q --concurrency 2", "queue limit q --rate 5/1m --replace", "swrun queue limit q"},
		{"queues/rules/q", "queue limit q --concurrency 2", "queue limit q --concurrency none --replace", "swrun queue limit q"},
		{"settings/deployment", "config set runTimeout=5h", "config set events=own --replace", "swrun config set"},
		{"settings/deployment", "config set runTimeout=5h", "config unset runTimeout --replace", "swrun config set"},
		{"settings/namespace/demo", "config set -n demo runTimeout=5h", "config set -n demo runTimeout=6h --replace", "swrun config set"},
	} {
		kind, _, _ := strings.Cut(c.entry, "/")
		for _, text := range []string{"rubbish", "", envelope + "1 []", envelope + "99 {}"} {
			h.exits(exitOK, strings.Fields(c.set)...)
			damage(c.entry, text)
			code, out := h.says(c.set)
			if code != exitStore || !strings.Contains(out, "of "+kind+" cannot be read") || !strings.Contains(out, c.hint) || !strings.Contains(out, "--replace") {
				h.Errorf("%s is damaged by %q: %s ends with %d:\n%s", c.entry, text, c.set, code, out)
			}
			if code, out := h.says("doctor"); code != exitStore || strings.Contains(out, "backup") || strings.Contains(text, "99") == strings.Contains(out, "--replace") {
				h.Errorf("%s is damaged by %q: doctor ends with %d:\n%s", c.entry, text, code, out)
			}
			code, out = h.says(c.replace)
			if code != exitOK || !strings.Contains(out, "warning: ") || !strings.Contains(out, "lost") || strings.Contains(out, "newer swrun") != strings.Contains(text, "99") {
				h.Errorf("%s is damaged by %q: %s ends with %d:\n%s", c.entry, text, c.replace, code, out)
			}
			h.exits(exitOK, "queue", "ls")
			h.exits(exitOK, "config", "ls")
			if _, out := h.says(c.replace); strings.Contains(out, "warning: ") {
				h.Errorf("%s warns of an entry that can be read:\n%s", c.replace, out)
			}
		}
	}
}

// TestServerReplacesDamagedEntry: the API has the member `replace` for this, and its answer contains the reason.
func TestServerReplacesDamagedEntry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h, client := &hosted{t, server.URL()}, redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	h.exits(exitOK, "queue", "limit", "q", "--concurrency", "2")
	h.exits(exitOK, "config", "set", "runTimeout=5h")
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	for _, key := range []string{"queues:rules/q", "settings:deployment"} {
		mustSetEntry(t, client, key, "1 0 x 1 []")
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPatch, "/v1/queues/q", `{"concurrency": "3"}`},
		{http.MethodPost, "/v1/settings", `{"set": {"runTimeout": "1h"}}`},
	} {
		answer, text := h.asks(s, c.method, c.path, c.body)
		if answer.StatusCode != http.StatusInternalServerError || !strings.Contains(text, `"applied":"no"`) || !strings.Contains(text, "--replace") {
			t.Errorf("%s is answered with %s: %s", c.path, answer.Status, text)
		}
		answer, text = h.asks(s, c.method, c.path, strings.TrimSuffix(c.body, "}")+`, "replace": true}`)
		if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"replaced":"the entry `) {
			t.Errorf("%s is answered with %s: %s", c.path, answer.Status, text)
		}
	}
}
