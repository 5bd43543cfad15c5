package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
)

// TestRepairNamesUnreadableRuns: repair names a run of which only some parts are stored, and prints that it leaves the run as it is.
func TestRepairNamesUnreadableRuns(t *testing.T) {
	t.Parallel()
	const told = "repair leaves it as it is, and nothing continues it: restore it from a backup"
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		h := &hosted{t, "file:" + path}
		h.holdsRuns()
		changeEntries(t, path, func(b *bbolt.Bucket) error {
			c := b.Cursor()
			for key, _ := c.First(); key != nil; key, _ = c.Next() {
				if bytes.HasSuffix(key, []byte("/lost/record")) {
					return c.Delete()
				}
			}
			return nil
		})
		h.namesLost("it has no record, and these parts of it are stored: ", told)
	})
	for name, damage := range map[string]func(*redis.Client, string){
		"record deleted": func(c *redis.Client, key string) { c.HDel(t.Context(), key, "k") },
		"only an inbox": func(c *redis.Client, key string) {
			c.Del(t.Context(), key)
			c.RPush(t.Context(), strings.Replace(key, ":i:", ":n:", 1), "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, client := mustFillRedis(t)
			h.holdsRuns()
			damage(client, client.Keys(t.Context(), "*:i:demo/lost").Val()[0])
			h.namesLost("it has no record", told)
		})
	}
}

// holdsRuns starts the runs lost and well.
func (h *hosted) holdsRuns() {
	h.Helper()
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
	for _, id := range []string{"lost", "well"} {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
	}
}

// namesLost checks that repair names the run lost, and only this one.
func (h *hosted) namesLost(told ...string) {
	h.Helper()
	for _, command := range []string{"repair --dry-run", "repair", "repair -o json"} {
		code, out := h.says(command)
		contains(h.T, out, append(told, "run demo/lost cannot be read: ")...)
		if strings.Contains(out, "demo/well") || code != exitOK {
			h.Errorf("%s ends with %d: %s", command, code, out)
		}
	}
}
