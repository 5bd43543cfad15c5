package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/redisstore/redistest"
)

// overwrites overwrites what is stored under the keys that contain a text: by rubbish, or on Redis by a list.
type overwrites func(key string, list bool)

// TestDamagedEntries: what is stored beside the runs and is damaged hurts only what it belongs to, and is told there with its name.
func TestDamagedEntries(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "runs.db")
		(&hosted{t, "file:" + path}).survivesDamage([]string{"/rules/q", "definition/digest/"}, func(part string, _ bool) {
			overwriteEntry(t, path, part, []byte("rubbish"))
		})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
		t.Cleanup(func() { client.Close() })
		(&hosted{t, server.URL()}).survivesDamage([]string{":rules/q", ":r:queues", "digest/"}, func(part string, list bool) {
			changed := 0
			for _, key := range client.Keys(t.Context(), "*").Val() {
				if strings.HasSuffix(key, ":definitions") {
					for field := range client.HGetAll(t.Context(), key).Val() {
						if strings.Contains(field, part) {
							changed++
							client.HSet(t.Context(), key, field, "rubbish")
						}
					}
				}
				if !strings.Contains(key, part) {
					continue
				}
				if changed++; !list {
					client.Set(t.Context(), key, "rubbish", 0)
					continue
				}
				client.Del(t.Context(), key)
				client.LPush(t.Context(), key, "rubbish")
			}
			if changed == 0 {
				t.Fatalf("no key contains %q: %q", part, client.Keys(t.Context(), "*").Val())
			}
		})
	})
}

// survivesDamage damages one thing after another: each is told by what it belongs to, and runs are listed as before.
func (h *hosted) survivesDamage(keys []string, overwrite overwrites) {
	h.Helper()
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	h.exits(exitOK, "queue", "limit", "q", "--concurrency", "2")
	for _, key := range keys {
		list := strings.HasSuffix(key, "queues")
		overwrite(key, list)
		wants := []struct {
			args string
			code int
			says string
		}{{"ls", exitOK, "one"}, {"ls --count --by waiting", exitOK, "1"}, {"doctor", exitStore, "1 registered thing cannot be read"}, {"queue ls", exitStore, "queues"}}
		if strings.Contains(key, "digest") {
			wants = wants[:2]
		}
		for _, c := range wants {
			code, out := h.says(c.args)
			if code != c.code || !strings.Contains(out, c.says) || strings.Contains(out, "overloaded") {
				h.Errorf("%s damaged: %s ends with %d and does not say %q:\n%s", key, c.args, code, c.says, out)
			}
		}
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.answers(s, "/v1/runs", http.StatusOK, `"one"`)
	h.refusesDamagedWorkflow(s)
}

// refusesDamagedWorkflow: a workflow whose definition is damaged starts nothing, and the answer names it. Other workflows run as before.
func (h *hosted) refusesDamagedWorkflow(s *serving) {
	h.Helper()
	for _, c := range []struct{ method, path, body, applied string }{
		{http.MethodPost, "/v1/runs", `{"workflow": "demo/nap", "id": "two"}`, "no"},
		{http.MethodGet, "/v1/runs/demo/one", "", ""},
		{http.MethodGet, "/v1/workflows/demo/nap", "", ""},
	} {
		answer, text := h.asks(s, c.method, c.path, c.body)
		var problem struct{ Type, Detail, Applied string }
		if err := json.Unmarshal([]byte(text), &problem); err != nil {
			h.Fatal(c.path, text, err)
		}
		if answer.StatusCode != http.StatusInternalServerError || !strings.HasSuffix(problem.Type, "unreadable") || problem.Applied != c.applied || !strings.Contains(problem.Detail, "demo/nap") {
			h.Errorf("%s %s of a damaged definition is answered with %s: %s", c.method, c.path, answer.Status, text)
		}
	}
	if code, out := h.says("start demo/nap --id two"); code != exitStore || !strings.Contains(out, "demo/nap") {
		h.Errorf("start ends with %d: %s", code, out)
	}
	if code, out := h.says("describe two"); code != exitNotFound {
		h.Errorf("describe two ends with %d: %s", code, out)
	}
	s.err.until(h.T, "a run could not be worked on")
	other := strings.Replace(napText, "name: nap", "name: other", 1)
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "other.yaml", other))
	h.exits(exitOK, "start", "demo/other", "--id", "three")
	h.until("waiting for the timer", "describe", "three")
}

// overwriteEntry overwrites what a file keeps under the keys that contain a text; nil deletes it. Nobody may have the file open.
func overwriteEntry(t *testing.T, path, part string, data []byte) {
	t.Helper()
	changeEntries(t, path, func(b *bbolt.Bucket) error {
		var keys [][]byte
		err := b.ForEach(func(key, _ []byte) error {
			if strings.Contains(string(key), part) {
				keys = append(keys, bytes.Clone(key))
			}
			return nil
		})
		if len(keys) == 0 {
			t.Fatalf("no key contains %q", part)
		}
		for _, key := range keys {
			if err == nil && data == nil {
				err = b.Delete(key)
			} else if err == nil {
				err = b.Put(key, data)
			}
		}
		return err
	})
}

// changeEntries changes what a file keeps. Nobody may have the file open.
func changeEntries(t *testing.T, path string, change func(*bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // what was written is there
	if err := db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket([]byte("swrun"))) }); err != nil {
		t.Fatal(err)
	}
}
