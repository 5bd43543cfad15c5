package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// TestRepairRemovesStrayCounts: repair removes keys of a file that count runs and name none. Those of runs stay.
func TestRepairRemovesStrayCounts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	overwriteEntry(t, path, "demo/one/record", []byte("rubbish"))
	_, out := h.says("repair")
	contains(t, out, "0 differences repaired")
	added := 0
	changeEntries(t, path, func(b *bbolt.Bucket) (err error) {
		for _, part := range []string{"quarantined/rubbish", "quarantined/demo/gone", "retrying/", "retrying/demo/gone", "unreadable/rubbish", "unreadable/a/b c"} {
			for partition := range 4 {
				if added++; err == nil {
					err = b.Put(fmt.Appendf(nil, "p/%04d/%s", partition, part), nil)
				}
			}
		}
		return err
	})
	_, out = h.says("doctor")
	contains(t, out, "quarantined: 8 runs", "9 runs and 0 registered things cannot be read")
	_, out = h.says("repair --dry-run")
	contains(t, out, fmt.Sprintf("%d differences to repair", added))
	_, out = h.says("repair")
	contains(t, out, `"rubbish" stood in quarantined, and names no run`, fmt.Sprintf("%d differences repaired", added))
	_, out = h.says("repair")
	contains(t, out, "0 differences repaired")
	_, out = h.says("doctor")
	contains(t, out, "no run is quarantined", "1 run and 0 registered things cannot be read", fmt.Sprintf("%d repairs of indexes", added))
}
