package main

import (
	"os"
	"sync"
	"testing"
	"time"
)

// TestDoctorOfWork: doctor warns of runs that nobody moves on, and of none while there is a worker. Who drives a run of its
// own is no worker for the others.
func TestDoctorOfWork(t *testing.T) {
	h := newHosted(t)
	h.until("no worker is connected, and no run waits for one", "doctor")
	document := mustWriteFile(t, "nap.yaml", napText)
	h.exits(exitOK, "deploy", document)
	h.exits(exitOK, "start", "demo/nap", "--id", "a")
	h.until("no worker is connected, and nothing advances 1 unfinished run", "doctor")
	h.until("overdue: 1 run, demo/a by ", "doctor")
	h.drive(document, "mine")
	h.until("waiting", "describe", "mine")
	h.until("no worker is connected, and nothing advances 2 unfinished runs", "doctor")
	h.work()
	h.until("connected: 1 worker", "doctor")
	h.until("no run is overdue", "doctor")
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
