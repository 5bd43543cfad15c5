package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestRepairRemovesStrayCounts: repair removes keys of a file that count runs but name no run. The keys of runs stay.
func TestRepairRemovesStrayCounts(t *testing.T) {
	t.Parallel()
	h, path := deployedInFile(t)
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

// TestDamagedEntriesEnd: damaged entries of the registry in a file whose time is over are removed when others are stored.
func TestDamagedEntriesEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "config", "set", "runTimeout=1h")
	changeEntries(t, path, func(b *bbolt.Bucket) (err error) {
		for n := range 5 {
			name := fmt.Sprintf("workers/DEAD%d", n)
			for key, value := range map[string]string{"registry/" + name: "rubbish", fmt.Sprintf("registry-ends/%017d/%s", n+1, name): ""} {
				if err == nil {
					err = b.Put([]byte(key), []byte(value))
				}
			}
		}
		return err
	})
	_, out := h.says("doctor")
	contains(t, out, "0 runs and 5 registered things cannot be read")
	for n := range 3 {
		h.exits(exitOK, "config", "set", fmt.Sprintf("runTimeout=%dh", n+1))
	}
	_, out = h.says("doctor")
	contains(t, out, "all examined data can be read")
	changeEntries(t, path, func(b *bbolt.Bucket) error {
		return b.ForEach(func(key, _ []byte) error {
			if strings.Contains(string(key), "DEAD") {
				t.Errorf("%s is left", key)
			}
			return nil
		})
	})
}

// TestRepairsAtTheStartAreLogged: a worker that repairs a file when it starts logs each repair, at most 100 of them, and the number of further repairs.
func TestRepairsAtTheStartAreLogged(t *testing.T) {
	t.Parallel()
	h, path := deployedInFile(t)
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	for n := range 30 {
		inEachPartition(t, path, fmt.Sprint("quarantined/rubbish", n), "")
	}
	log := capture(map[string]string{"SWRUN_STORE": h.url})
	stop := working(t, log)
	h.until("waiting for the timer", "describe", "one")
	stop()
	contains(t, log.stderr.String(), `msg="more indexes had to be repaired" repairs=20`, "stood in quarantined, and names no run")
	if n := strings.Count(log.stderr.String(), "an index had to be repaired"); n != 100 {
		t.Errorf("the log tells of %d repairs", n)
	}
}
