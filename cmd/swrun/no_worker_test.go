package main

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

const halfMinuteText = `document: {dsl: 1.0.3, namespace: demo, name: half, version: 0.1.0}
timeout: {after: PT1H}
do: [{a: {wait: PT30M}}]
`

// stderr runs a command, checks its exit code, and returns its standard error.
func (h *hosted) stderr(want int, args ...string) string {
	h.Helper()
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	c.now = time.Now
	if code := run(args, c.streams); code != want {
		h.Fatalf("swrun %s ended with %d, not %d: %s", strings.Join(args, " "), code, want, c.stderr.String())
	}
	return c.stderr.String()
}

// contains checks that a text contains parts, and does not contain the parts that begin with an exclamation mark.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		part, absent := strings.CutPrefix(part, "!")
		if strings.Contains(text, part) == absent {
			t.Errorf("contains %q: %t, want the opposite:\n%s", part, absent, text)
		}
	}
}

// followed follows a run's history until standard error contains a text, and returns that text.
func (h *hosted) followed(id string) string {
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	signals := make(chan os.Signal, 1)
	said := &firstWrite{done: func() { signals <- os.Interrupt }}
	c.now, c.err, c.signals = time.Now, said, func() (<-chan os.Signal, func()) { return signals, func() {} }
	if code := run([]string{"history", id, "--follow"}, c.streams); code != exitInterrupt {
		h.Errorf("swrun history --follow ended with %d", code)
	}
	return said.text
}

// firstWrite keeps the first write, and then calls done.
type firstWrite struct {
	once sync.Once
	text string
	done func()
}

func (w *firstWrite) Write(text []byte) (int, error) {
	w.once.Do(func() { w.text = string(text); w.done() })
	return len(text), nil
}

// TestMissingWorkerIsReported: on a Redis without a connected worker, each verb about unfinished runs reports it, and none promises that anything
// happens automatically.
func TestMissingWorkerIsReported(t *testing.T) {
	h := newHosted(t)
	stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
	h.exits(exitOK, "deploy", mustWriteFile(t, "half.yaml", halfMinuteText))
	h.exits(exitOK, "start", "demo/half", "--id", "d-1")
	h.until("waiting for the timer of /do/0/a (half.yaml:3)", "describe", "d-1")
	contains(t, h.exits(exitOK, "describe", "d-1"), "Nothing else can move it but a command.", "!Continue:", "!No worker")
	contains(t, h.stderr(exitOK, "ls"), "!worker")
	contains(t, h.stderr(exitWaited, "wait", "d-1", "--timeout", "10ms"), "is still in progress", "!worker")

	stop()
	h.until("Continue:", "describe", "d-1")
	gone := "no worker is connected to " + h.url + ": swrun worker drives all of its runs"
	contains(t, h.exits(exitOK, "describe", "d-1"), "waiting for the timer", "!Nothing else can move", "No worker is there to go on with it.",
		"Continue:  "+gone, "the workflow's timeout (half.yaml:2) fires as soon as a worker takes the run")
	contains(t, h.exits(exitOK, "describe", "d-1", "-o", "json", "--jq", ".noWorker"), "true")
	contains(t, h.stderr(exitOK, "ls"), gone)
	contains(t, h.stderr(exitOK, "deadlines", "--within", "2h"), gone)
	contains(t, h.stderr(exitOK, "ls", "-o", "json"), "!worker")
	contains(t, h.stderr(exitWaited, "wait", "d-1", "--timeout", "2s"), "demo/d-1 does not continue: "+gone, "is still in progress; "+gone)
	contains(t, h.stderr(exitWaited, "output", "d-1"), "is still in progress; "+gone)
	contains(t, h.stderr(exitWaited, "output", "d-1", "--wait", "2s"), "demo/d-1 does not continue: "+gone, "is still in progress; "+gone)
	contains(t, h.followed("d-1"), "demo/d-1 does not continue: "+gone)
	contains(t, h.exits(exitOK, "describe", "d-1", "--store", h.url), "swrun worker --store "+h.url+" drives all of its runs")
}

// TestRunThatIsDrivenAloneHasAWorker: a run that a process drives alone has a worker, and other runs of the store have none.
func TestRunThatIsDrivenAloneHasAWorker(t *testing.T) {
	h := newHosted(t)
	file := mustWriteFile(t, "half.yaml", halfMinuteText)
	h.exits(exitOK, "deploy", file)
	h.exits(exitOK, "start", "demo/half", "--id", "other")
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	signals := make(chan os.Signal, 1)
	c.now, c.signals = time.Now, func() (<-chan os.Signal, func()) { return signals, func() {} }
	var driving sync.WaitGroup
	driving.Go(func() { run([]string{"run", file, "--id", "alone"}, c.streams) })
	h.until("waiting for the timer", "describe", "alone")
	contains(t, h.exits(exitOK, "describe", "alone"), "Nothing else can move it but a command.", "!No worker", "!Continue")
	contains(t, h.stderr(exitWaited, "wait", "alone", "--timeout", "10ms"), "!worker")
	contains(t, h.exits(exitOK, "describe", "other"), "No worker is there to go on with it.", "Continue:")
	contains(t, h.stderr(exitOK, "ls"), "no worker is connected")
	signals <- os.Interrupt
	driving.Wait()
	h.until("No worker is there to go on with it.", "describe", "alone")
}

// TestTimeoutOfWaitHoldsWithoutTheStore: a wait ends in time although the store stops answering.
func TestTimeoutOfWaitHoldsWithoutTheStore(t *testing.T) {
	server := redistest.Start(t)
	h := &hosted{t, server.URL()}
	h.exits(exitOK, "deploy", mustWriteFile(t, "half.yaml", halfMinuteText))
	h.exits(exitOK, "start", "demo/half", "--id", "d-3")
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	said := &firstWrite{done: server.Kill}
	c.now, c.err = time.Now, said
	if code := run([]string{"wait", "d-3", "demo/d-3", "--timeout", "1s"}, c.streams); code != exitWaited {
		t.Errorf("it ended with %d", code)
	}
	contains(t, said.text, "demo/d-3 does not continue")
}

// TestCommandsThatWaitAreNamed: without a worker, a requested command is named, and commands without an effect are not offered.
func TestCommandsThatWaitAreNamed(t *testing.T) {
	h := newHosted(t)
	h.exits(exitOK, "deploy", mustWriteFile(t, "half.yaml", halfMinuteText))
	h.exits(exitOK, "start", "demo/half", "--id", "p-1")
	none := "no worker is connected to " + h.url
	h.exits(exitConflict, "delete", "p-1")
	contains(t, h.stderr(exitConflict, "delete", "p-1"), "the run demo/p-1 is pending", "end it first, with cancel or terminate")
	contains(t, h.stderr(exitOK, "suspend", "p-1"), none)
	contains(t, h.exits(exitOK, "describe", "p-1"), "A suspend waits for a worker.", "You can:   resume · cancel · terminate")
	h.exits(exitOK, "cancel", "p-1")
	contains(t, h.exits(exitOK, "describe", "p-1"), "A suspend and a cancel wait for a worker.", "You can:   terminate · history")
	contains(t, h.stderr(exitConflict, "delete", "p-1"), "the run demo/p-1 is pending: its cancel waits for a worker")
	h.exits(exitOK, "cancel", "p-1")
	h.exits(exitOK, "terminate", "p-1")
	contains(t, h.exits(exitOK, "describe", "p-1"), "A suspend, 2 cancels and a terminate wait for a worker.", "You can:   history")
	contains(t, h.exits(exitOK, "describe", "p-1", "-o", "json", "--jq", ".commands"), `["suspend","cancel","terminate"]`)
	contains(t, h.stderr(exitConflict, "delete", "p-1"), "its terminate waits for a worker", none, "wait for its end, and delete it then")
	contains(t, h.exits(exitOK, "ls"), "waits for a worker to carry out: suspend, cancel, terminate")
	for range 10 {
		h.exits(exitOK, "resume", "p-1")
	}
	contains(t, h.exits(exitOK, "describe", "p-1"), "A suspend, 2 cancels, a terminate, 6 resumes and 4 more wait for a worker.")
	h.work()
	h.exits(exitCancelled, "wait", "p-1", "--timeout", "30s")
	contains(t, h.exits(exitOK, "describe", "p-1"), "!for a worker")
	h.exits(exitOK, "delete", "p-1")
}

// TestWorkerIsGoneWithItsConnection: a killed worker is known to be gone before its lease ends.
func TestWorkerIsGoneWithItsConnection(t *testing.T) {
	h := newHosted(t)
	h.exits(exitOK, "deploy", mustWriteFile(t, "half.yaml", halfMinuteText))
	h.exits(exitOK, "start", "demo/half", "--id", "d-2")
	s, err := swrun.OpenStore(t.Context(), h.url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	i := store.Instance{Namespace: "demo", ID: "d-2"}
	claimed, err := s.Claim(t.Context(), store.Claim{
		Partition: i.Partition(s.Layout().Partitions), Instances: []store.Instance{i}, Worker: "KILLED", Nonce: "n", Lease: time.Hour,
	})
	if err != nil || len(claimed) != 1 {
		t.Fatal(err, claimed)
	}
	contains(t, h.exits(exitOK, "describe", "d-2"), "Worker:    KILLED, gone: nothing works on the store now", "No worker is there")
	contains(t, h.exits(exitOK, "ls"), "its worker is gone")
}
