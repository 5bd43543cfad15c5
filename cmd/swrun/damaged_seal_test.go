//go:build unix

package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestDamagedSealKey: a damaged key of the tokens of activities is replaced, and a key of a newer swrun is reported. Activities are given out, and
// their reports count.
func TestDamagedSealKey(t *testing.T) {
	for _, text := range []string{"rubbish", "", "1 0 rubbish", "1 0 99 7"} {
		t.Run("file "+text, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			(&hosted{t, "file:" + path}).goesOnWithoutSealKey(text == "1 0 99 7", func() { overwriteEntry(t, path, "registry/keys/activities", []byte(text)) })
		})
	}
	for _, text := range []string{"rubbish", "", "1 0 x rubbish", "1 0 x 99 7", "list"} {
		t.Run("redis "+text, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
			t.Cleanup(func() { client.Close() })
			(&hosted{t, server.URL()}).goesOnWithoutSealKey(text == "1 0 x 99 7", func() {
				overwriteKey(t, client, "*:e:keys:activities", text)
			})
		})
	}
}

// overwriteKey gives the key that matches a pattern another text, or makes it a list.
func overwriteKey(t *testing.T, client *redis.Client, pattern, text string) {
	t.Helper()
	keys := client.Keys(t.Context(), pattern).Val()
	if len(keys) != 1 {
		t.Fatalf("%q", keys)
	}
	if client.Del(t.Context(), keys...); text == "list" {
		client.LPush(t.Context(), keys[0], text)
	} else {
		client.Set(t.Context(), keys[0], text, 0)
	}
}

// goesOnWithoutSealKey gives out activities before and after the key is damaged.
func (h *hosted) goesOnWithoutSealKey(newer bool, damage func()) {
	h.Helper()
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "outside.yaml", outsideText))
	for _, id := range []string{"before", "after"} {
		h.exits(exitOK, "start", "demo/outside", "--id", id)
		cmd, s := h.started("listening on", "serve", "--listen", "127.0.0.1:0")
		one := h.taken(s)
		h.posts(s, "complete", `{"token": "`+one.Token+`", "result": 2}`, http.StatusNoContent)
		contains(h.T, h.exits(exitOK, "output", id, "--wait"), "2")
		if id == "after" {
			logs := "the key of the tokens of activities was damaged, and is replaced"
			if newer {
				logs = "the key of the tokens of activities cannot be read"
			}
			s.err.until(h.T, logs)
			if _, out := h.says("doctor"); strings.Contains(out, "1 registered thing cannot be read") != newer {
				h.Errorf("newer %t: doctor says %s", newer, out)
			}
		}
		h.signal(cmd, syscall.SIGTERM)
		_ = cmd.Wait() // its exit code is irrelevant
		if id == "before" {
			damage()
		}
	}
}
