package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
)

// TestRepairListsRuns: repair adds a run to the list of runs, and to the set of its record, if neither names it. The run continues.
func TestRepairListsRuns(t *testing.T) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		h := &hosted{t, "file:" + path}
		h.holdsRuns()
		changeEntries(t, path, func(b *bbolt.Bucket) error {
			var keys [][]byte
			err := b.ForEach(func(key, _ []byte) error {
				if bytes.HasSuffix(key, []byte("/lost")) {
					keys = append(keys, bytes.Clone(key))
				}
				return nil
			})
			for _, key := range keys {
				if err == nil {
					err = b.Delete(key)
				}
			}
			return err
		})
		h.listsLost()
	})
	t.Run("redis", func(t *testing.T) {
		h, client := mustFillRedis(t)
		h.holdsRuns()
		h.unlistsLost(client)
		if code, out := h.says("doctor"); code != exitStore {
			t.Errorf("doctor ends with %d: %s", code, out)
		} else {
			contains(t, out, "SD006", "demo/lost: was missing in the list of runs")
		}
		h.listsLost()
	})
}

// unlistsLost removes the run lost from the index and the sets of its partition.
func (h *hosted) unlistsLost(client *redis.Client) {
	h.Helper()
	ctx := h.Context()
	for _, key := range client.Keys(ctx, "*:new").Val() {
		client.ZRem(ctx, key, "demo/lost")
	}
	removed := int64(0)
	for _, key := range client.Keys(ctx, "*:index").Val() {
		for _, m := range client.XRange(ctx, key, "-", "+").Val() {
			if m.Values["i"] == "demo/lost" {
				removed += client.XDel(ctx, key, m.ID).Val()
			}
		}
	}
	if removed != 1 {
		h.Fatalf("%d entries are removed", removed)
	}
}

// listsLost checks that repair adds the run lost to the lists, and that it can end then.
func (h *hosted) listsLost() {
	h.Helper()
	const missing = "demo/lost: was missing in the list of runs"
	_, out := h.says("ls -n demo")
	if strings.Contains(out, "lost") {
		h.Errorf("the run is not hidden: %s", out)
	}
	_, out = h.says("repair --dry-run")
	contains(h.T, out, missing, "demo/lost: was missing in new", "2 differences to repair")
	_, out = h.says("repair")
	contains(h.T, out, missing, "demo/lost: was missing in new", "2 differences repaired")
	_, out = h.says("ls -n demo")
	contains(h.T, out, "lost", "well")
	_, out = h.says("repair")
	contains(h.T, out, "0 differences repaired")
	h.exits(exitOK, "cancel", "-n", "demo", "lost")
	h.workUntil("demo/lost", "worker", "--log-level", "debug")
	_, out = h.says("describe -n demo lost")
	contains(h.T, out, "cancelled")
}
