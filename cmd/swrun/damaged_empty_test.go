package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/runtime/store"
)

// TestEmptyEntriesOfRuns: doctor names an entry of the list of runs that names a run of which nothing is stored, and repair removes it. If some
// part of the run is stored, doctor names this part, and repair keeps the entry.
func TestEmptyEntriesOfRuns(t *testing.T) {
	none := store.Instance{Namespace: "demo", ID: "none"}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		h, client := mustFillRedis(t)
		prefix := fmt.Sprintf("swrun:{swrun:%d}:", none.Partition(2))
		client.XAdd(t.Context(), &redis.XAddArgs{Stream: prefix + "index", Values: []any{"i", "demo/none"}})
		h.keepsEntries("inbox", func() { client.RPush(t.Context(), prefix+"n:demo/none", "1") }, func() { client.Del(t.Context(), prefix+"n:demo/none") })
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		h, path := deployedInFile(t)
		h.exits(exitOK, "start", "demo/nap", "--id", "one")
		prefix := fmt.Sprintf("p/%04d/", none.Partition(4))
		changeEntries(t, path, func(b *bbolt.Bucket) error { return b.Put([]byte(prefix+"index/00001795000000000/demo/none"), nil) })
		message := []byte(prefix + "i/demo/none/inbox/00000000000000000")
		h.keepsEntries("inbox",
			func() { changeEntries(t, path, func(b *bbolt.Bucket) error { return b.Put(message, []byte("1")) }) },
			func() { changeEntries(t, path, func(b *bbolt.Bucket) error { return b.Delete(message) }) })
	})
}

// keepsEntries checks that repair removes the entry of the run demo/none only without a part of it.
func (h *hosted) keepsEntries(part string, add, remove func()) {
	h.Helper()
	names := "cannot be read: it names the run demo/none, and nothing of this run is stored"
	code, out := h.says("doctor")
	contains(h.T, out, "1 run and 0 registered things cannot be read", names, "fix: swrun repair removes entries of the list of runs")
	if code != exitStore || strings.Contains(out, "backup") {
		h.Errorf("doctor ends with %d:\n%s", code, out)
	}
	add()
	code, out = h.says("doctor")
	contains(h.T, out, "run demo/none cannot be read: it has no record, and these parts of it are stored: "+part, "restore the store from a backup")
	if code != exitStore {
		h.Errorf("doctor ends with %d", code)
	}
	_, out = h.says("repair")
	contains(h.T, out, "0 differences repaired")
	code, out = h.says("describe none")
	contains(h.T, out, "these parts of it are stored: "+part)
	if code != exitStore {
		h.Errorf("describe ends with %d", code)
	}
	remove()
	_, out = h.says("repair --dry-run")
	contains(h.T, out, "named the run demo/none, of which nothing is stored", "1 difference to repair")
	_, out = h.says("repair")
	contains(h.T, out, "named the run demo/none, of which nothing is stored", "1 difference repaired")
	_, out = h.says("doctor")
	contains(h.T, out, "all examined data can be read")
	_, out = h.says("ls")
	contains(h.T, out, "one ")
	if strings.Contains(out, "cannot be read") {
		h.Errorf("ls shows: %s", out)
	}
}

// TestRunWithADamagedHistoryContinues: the remedy of doctor for a damaged history states that the run continues, and the run ends.
func TestRunWithADamagedHistoryContinues(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	h.naps("bad")
	client.LSet(t.Context(), client.Keys(t.Context(), "*:h:demo/bad").Val()[0], -1, "rubbish")
	code, out := h.says("doctor")
	contains(t, out, "1 run and 0 registered things cannot be read", "a run with a damaged history continues")
	if code != exitStore || strings.Contains(out, "a damaged run does not continue") {
		t.Errorf("doctor ends with %d:\n%s", code, out)
	}
	h.exits(exitOK, "cancel", "bad")
	defer working(t, capture(map[string]string{"SWRUN_STORE": h.url}))()
	h.until("cancelled", "ls")
}
