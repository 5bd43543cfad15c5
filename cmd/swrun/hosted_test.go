package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// hosted is a store on Redis with a worker, which the command manages.
type hosted struct {
	*testing.T
	url string
}

func newHosted(t *testing.T) *hosted {
	return &hosted{t, redistest.Start(t).URL()}
}

// swrun runs the command and returns its exit code and standard output.
func (h *hosted) swrun(args ...string) (int, string) {
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	c.now = time.Now
	code := run(args, c.streams)
	return code, c.stdout.String()
}

// work runs a worker until the test ends.
func (h *hosted) work(flags ...string) {
	h.Cleanup(working(h.T, capture(map[string]string{"SWRUN_STORE": h.url}), flags...))
}

// working runs a worker until the function that it returns is called.
func working(t *testing.T, c *captured, flags ...string) (stop func()) {
	signals := make(chan os.Signal, 1)
	c.now, c.signals = time.Now, func() (<-chan os.Signal, func()) { return signals, func() {} }
	var working sync.WaitGroup
	working.Go(func() {
		if code := run(append([]string{"worker"}, flags...), c.streams); code != exitOK && code != 130 {
			t.Errorf("the worker ended with %d: %s", code, c.stderr.String())
		}
	})
	return func() { signals <- os.Interrupt; working.Wait() }
}

// until repeats a command until it prints a text.
func (h *hosted) until(text string, args ...string) {
	h.Helper()
	var out string
	for deadline := time.Now().Add(pacetest.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, out = h.swrun(args...); strings.Contains(out, text) {
			return
		}
	}
	h.Fatalf("swrun %s does not print %q:\n%s", strings.Join(args, " "), text, out)
}

// exits checks the exit code of a command.
func (h *hosted) exits(want int, args ...string) string {
	h.Helper()
	code, out := h.swrun(args...)
	if code != want {
		h.Fatalf("swrun %s ended with %d, not %d", strings.Join(args, " "), code, want)
	}
	return out
}

const napText = `document: {dsl: 1.0.3, namespace: demo, name: nap, version: 0.1.0}
do:
- t:
    try: [{nap: {wait: PT2H, timeout: {after: PT1H}}}]
    catch: {do: [{late: {set: {late: true}}}]}
`

const boundedText = `document: {dsl: 1.0.3, namespace: demo, name: bounded, version: 0.1.0, metadata: {swrun: {runTimeout: PT3H}}}
timeout: {after: PT2H}
do:
- nap: {wait: PT5H}
`

// TestWhereDeadlinesStand: deadlines of the workflow are listed too, unless a start option has set them.
func TestWhereDeadlinesStand(t *testing.T) {
	h := newHosted(t)
	h.work()
	h.exits(exitOK, "deploy", mustWriteFile(t, "bounded.yaml", boundedText))
	h.exits(exitOK, "start", "demo/bounded", "--id", "b-1")
	h.until("the workflow's timeout (bounded.yaml:2) fires", "describe", "b-1")
	h.exits(exitOK, "start", "demo/bounded", "--id", "b-2", "--execution-timeout", "1h", "--run-timeout", "2h")
	for id, want := range map[string]string{
		"b-1": `[["workflow","bounded.yaml",2],["run","bounded.yaml",1]]`, "b-2": `[["execution",null,null],["run",null,null]]`,
	} {
		h.until(want, "describe", id, "-o", "json", "--jq", ".deadlines | map([.kind, .file, .line])")
	}
}

// TestLookedAfter is the life of a run on Redis, from its start to its end, with a worker.
func TestLookedAfter(t *testing.T) {
	h := newHosted(t)
	h.work()
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "deploy", mustWriteFile(t, "renamed.yaml", napText)) // it is the same document
	h.exits(exitOK, "start", "demo/nap", "--id", "nap-1")
	h.until("waiting for the timer of /do/0/t/try/0/nap (nap.yaml:4)", "describe", "nap-1")
	h.until("the timeout of /do/0/t/try/0/nap (nap.yaml:4) fires, and the catch of /do/0/t (nap.yaml:3) takes it", "describe", "nap-1")
	if got := h.exits(exitOK, "deadlines", "--within", "2h", "-o", "json", "--jq", "map([.run, .pointer, .caughtBy])"); got != `[["demo/nap-1","/do/0/t/try/0/nap","/do/0/t"]]`+"\n" {
		t.Errorf("the deadlines are %s", got)
	}
	if got := h.exits(exitOK, "deadlines", "--within", "1m", "-o", "json"); got != "[]\n" {
		t.Errorf("the deadlines within a minute are %s", got)
	}
	h.exits(exitOK, "suspend", "nap-1", "--reason", "lunch")
	h.until("it is suspended", "describe", "nap-1")
	h.exits(exitOK, "resume", "nap-1")
	h.until("waiting for the timer", "describe", "nap-1")
	h.exits(exitConflict, "delete", "nap-1")
	h.exits(exitOK, "cancel", "nap-1", "--reason", "enough")
	h.exits(exitCancelled, "wait", "nap-1")
	h.exits(exitConflict, "cancel", "nap-1")
	h.exits(exitOK, "delete", "nap-1")
	h.exits(exitNotFound, "describe", "nap-1")
}

// TestOutputWaits: --wait has no argument, or the duration of the wait.
func TestOutputWaits(t *testing.T) {
	h := newHosted(t)
	h.work()
	h.exits(exitOK, "deploy", mustWriteFile(t, "short.yaml", `document: {dsl: 1.0.3, namespace: demo, name: short, version: 1.0.0}
do:
- nap: {wait: {milliseconds: 300}}
- made: {set: {done: true}}
`))
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "nap-2")
	for n, wait := range [][]string{{"--wait"}, {"--wait", "30s"}, {"--wait=30s"}, {"--wait", "PT30S"}} {
		id := fmt.Sprintf("short-%d", n)
		h.exits(exitOK, "start", "demo/short", "--id", id)
		for _, args := range [][]string{append([]string{"output", id}, wait...), append(append([]string{"output"}, wait...), id)} {
			if got := h.exits(exitOK, args...); !strings.Contains(got, `"done": true`) && !strings.Contains(got, `"done":true`) {
				t.Errorf("%v: got %s", args, got)
			}
		}
	}
	h.exits(exitWaited, "output", "nap-2", "--wait", "1ms")
	h.exits(exitWaited, "output", "nap-2", "--wait=1ms")
	h.exits(exitUsage, "output", "nap-2", "--wait", "soon")
	h.exits(exitUsage, "output", "nap-2", "nap-3")
	h.exits(exitUsage, "output", "--wait")
}

// TestBenchLeavesRunsAlone: the runs of bench are separate from the runs of others in the store, and other workers do not see them.
func TestBenchLeavesRunsAlone(t *testing.T) {
	var calls atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(service.Close)
	file := mustWriteFile(t, "real.yaml", `document: {dsl: 1.0.3, namespace: demo, name: real, version: 1.0.0}
do:
- pay: {call: http, with: {method: post, endpoint: '`+service.URL+`'}}
`)
	bench := []string{"bench", "throughput", "--size", "0.01", "-o", "json", "--jq", "[.lost, .duplicates]"}
	for name, h := range map[string]*hosted{"Redis": newHosted(t), "a file": {t, "file:" + filepath.Join(t.TempDir(), "runs.db")}} {
		h.exits(exitOK, "deploy", file)
		h.exits(exitOK, "start", "demo/real", "--id", "real-1")
		if got := h.exits(exitOK, bench...); got != "[0,0]\n" {
			t.Errorf("on %s: lost and doubled are %s", name, got)
		}
		if got := h.exits(exitOK, "ls", "-o", "json", "--jq", "map([.id, .status])"); got != `[["real-1","pending"]]`+"\n" {
			t.Errorf("on %s there is %s", name, got)
		}
		if strings.HasPrefix(h.url, "redis") {
			h.work("--network", "any")
			h.until("completed", "ls")
			h.exits(exitOK, bench...)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}
