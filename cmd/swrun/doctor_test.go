package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestDoctorOfWork: doctor warns of runs that no worker advances, and gives no warning while there is a worker. A process that drives a run of its
// own is no worker for the others.
func TestDoctorOfWork(t *testing.T) {
	h := newHosted(t)
	h.until("no worker is connected, and no run waits for one", "doctor")
	document := mustWriteFile(t, "nap.yaml", napText)
	h.exits(exitOK, "deploy", document)
	h.exits(exitOK, "start", "demo/nap", "--id", "a")
	h.until("no worker is connected, and no worker advances 1 unfinished run", "doctor")
	h.until("overdue: 1 run, demo/a by ", "doctor")
	h.drive(document, "mine")
	h.until("waiting", "describe", "mine")
	h.until("no worker is connected, and no worker advances 2 unfinished runs", "doctor")
	h.work()
	h.until("connected: 1 worker", "doctor")
	h.until("no run is overdue", "doctor")
}

// TestDoctorOfQuarantine: doctor warns of quarantined runs in every store, until they are released. ls and describe find them.
func TestDoctorOfQuarantine(t *testing.T) {
	for name, url := range map[string]string{"redis": redistest.Start(t).URL(), "file": "file:" + filepath.Join(t.TempDir(), "s.db")} {
		t.Run(name, func(t *testing.T) {
			h := &hosted{t, url}
			h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
			h.prints("ok       SD011  no run is quarantined\n", "doctor")
			for _, id := range []string{"a", "b", "well"} {
				h.exits(exitOK, "start", "demo/nap", "--id", id)
			}
			h.quarantine("a", "b")
			h.prints("warning  SD011  quarantined: 2 runs that lost several workers at one step\n"+
				"         fix: swrun ls --status quarantined lists them;", "doctor")
			if out := h.exits(exitOK, "ls", "--status", "quarantined", "-o", "name"); out != "demo/b\ndemo/a\n" {
				t.Errorf("ls prints %s", out)
			}
			h.exits(exitOK, "retry", "a")
			h.prints("quarantined: 1 run that lost", "doctor")
			h.exits(exitOK, "cancel", "b")
			h.prints("no run is quarantined", "doctor")
		})
	}
}

// quarantine lets runs lose enough workers for a quarantine.
func (h *hosted) quarantine(ids ...string) {
	h.Helper()
	s, err := swrun.OpenStore(h.Context(), h.url, swrun.StoreConfig{})
	if err != nil {
		h.Fatal(err)
	}
	defer s.Close() // all requests are answered
	for n := range store.DefaultMaxDeaths {
		for _, id := range ids {
			i := store.Instance{Namespace: "demo", ID: id}
			partition, all := i.Partition(s.Layout().Partitions), []store.Instance{i}
			claimed, err := s.Claim(h.Context(), store.Claim{Partition: partition, Instances: all, Worker: "w", Nonce: fmt.Sprint(n), Lease: time.Hour})
			if err != nil || len(claimed) != 1 {
				h.Fatal(claimed, err)
			}
			if _, err := s.Promote(h.Context(), store.Promote{Partition: partition, Instances: all, Worker: "w", Died: true}); err != nil {
				h.Fatal(err)
			}
		}
	}
}

// prints requires that a command succeeds and prints a text.
func (h *hosted) prints(text string, args ...string) {
	h.Helper()
	if out := h.exits(exitOK, args...); !strings.Contains(out, text) {
		h.Errorf("swrun %s does not print %q:\n%s", strings.Join(args, " "), text, out)
	}
}

// drive runs a document with --id until the test ends.
func (h *hosted) drive(document, id string) {
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	signals := make(chan os.Signal, 1)
	c.now, c.signals = time.Now, func() (<-chan os.Signal, func()) { return signals, func() {} }
	var working sync.WaitGroup
	working.Go(func() { run([]string{"run", document, "--id", id}, c.streams) })
	h.Cleanup(func() { signals <- os.Interrupt; working.Wait() })
}
