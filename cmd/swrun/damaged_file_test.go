package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestDamagedPartsAreNamed: doctor names a run of which a part in a file is damaged or missing, and so do describe, the log and health. No other run waits.
func TestDamagedPartsAreNamed(t *testing.T) {
	rubbish, huge := []byte("rubbish"), bytes.Repeat([]byte("x"), 10<<20)
	for name, c := range map[string]struct {
		part string
		data []byte
	}{
		"head": {"head", rubbish}, "cut head": {"head", []byte(`{"#":3,"t":1795`)}, "no head": {"head", nil}, "frame": {"frame/1", rubbish}, "invocation": {"info", rubbish},
		"no invocation": {"info", nil}, "huge invocation": {"info", huge}, "message": {"inbox/", rubbish}, "empty message": {"inbox/", []byte(`{"#":2}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, path := deployedInFile(t)
			h.naps("bad")
			h.exits(exitOK, "suspend", "bad")
			overwriteEntry(t, path, "i/demo/bad/"+c.part, c.data)
			for _, verb := range []string{"describe bad", "doctor"} {
				if code, out := h.says(verb); code != exitStore || !strings.Contains(out, "run demo/bad cannot be read: ") || len(out) > 4000 {
					t.Errorf("%s ends with %d, and says %d bytes: %.2000s", verb, code, len(out), out)
				}
			}
			s := h.listening("serve", "--listen", "127.0.0.1:0")
			h.answers(s, "/v1/health", http.StatusServiceUnavailable, "run demo/bad cannot be read: ")
			h.says("cancel bad")
			h.exits(exitOK, "start", "demo/nap", "--id", "good")
			h.until("waiting for the timer", "describe", "good")
			if code, out := h.says("describe bad"); code != exitStore {
				t.Errorf("describe ends with %d: %.2000s", code, out)
			}
		})
	}
}

// TestOverwrittenNumbers: an impossible number, and keys that no store has written, do not stop other runs.
func TestOverwrittenNumbers(t *testing.T) {
	for name, c := range map[string]struct{ key, text string }{
		"time beyond all numbers": {"clock", "99999999999999999999999"}, "time without a date": {"clock", "99999999999999999"},
		"version below 0": {"registry-version", "-5"}, "version beyond all": {"registry-version", "99999999999999999999999"},
		"key of a queue": {"queue/q", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, path := deployedInFile(t)
			h.exits(exitOK, "start", "demo/nap", "--id", "one")
			changeEntries(t, path, func(b *bbolt.Bucket) error {
				for _, partition := range []string{"p/0000/", "p/0001/", "p/0002/", "p/0003/"} {
					if err := b.Put([]byte(partition+c.key), []byte(c.text)); err != nil {
						return err
					}
				}
				return nil
			})
			if code, out := h.says("doctor"); code != exitOK || strings.Contains(out, "clock differs") {
				t.Errorf("doctor ends with %d: %s", code, out)
			}
			h.exits(exitOK, "queue", "ls")
			h.exits(exitOK, "config", "set", "runTimeout=1h")
			h.exits(exitOK, "config", "set", "runTimeout=2h")
			stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
			h.until("waiting for the timer", "describe", "one")
			stop()
			h.exits(exitOK, "doctor")
		})
	}
}

// TestFileFarAhead: doctor shows the remedy for a file whose time is ahead of the clock of this machine.
func TestFileFarAhead(t *testing.T) {
	t.Parallel()
	h, path := deployedInFile(t)
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	inEachPartition(t, path, "clock", "99999999999999")
	_, out := h.says("doctor")
	contains(t, out, "warning  SD004  the store's clock differs", "Restore a backup of the file, or copy its runs to a new file with swrun export and swrun import")
	if strings.Contains(out, "NTP") {
		t.Errorf("doctor says %s", out)
	}
}

// TestDamagedChangesOfSchedules: a worker replaces the damaged entry that notifies it of changed schedules, and logs this once.
func TestDamagedChangesOfSchedules(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", mustWriteFile(t, "tick.yaml", `
document: {dsl: 1.0.3, namespace: demo, name: tick, version: 1.0.0}
schedule: {every: PT2H}
do: [{a: {wait: PT3S}}]`))
	overwriteEntry(t, path, "registry/schedules/changes", []byte("rubbish"))
	log := capture(map[string]string{"SWRUN_STORE": h.url})
	stop := working(t, log)
	h.exits(exitOK, "start", "demo/tick", "--id", "x")
	h.until("completed", "describe", "x") // the schedules are checked each second
	stop()
	told := log.stderr.String()
	if strings.Count(told, "the entry that tells of changes of schedules was damaged, and is replaced") != 1 || strings.Contains(told, "the schedules cannot be looked after") {
		t.Errorf("the log tells of it so:\n%s", told)
	}
	_, out := h.says("doctor")
	contains(t, out, "all examined data can be read")
}
