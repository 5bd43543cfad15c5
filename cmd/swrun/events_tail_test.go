package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// tailing is a `swrun events tail` in progress.
type tailing struct {
	*hosted
	out, err told
	stop     func() int // interrupts it, and returns its exit code
}

func (h *hosted) tails(args ...string) *tailing {
	t := &tailing{hosted: h, out: told{lines: make(chan struct{}, 1)}, err: told{lines: make(chan struct{}, 1)}}
	c := capture(nil)
	signals, code := make(chan os.Signal, 1), make(chan int, 1)
	c.now, c.out, c.err, c.signals = time.Now, &t.out, &t.err, func() (<-chan os.Signal, func()) { return signals, func() {} }
	go func() { code <- run(append([]string{"events", "tail"}, args...), c.streams) }()
	t.stop = sync.OnceValue(func() int { signals <- os.Interrupt; return <-code })
	h.Cleanup(func() { t.stop() })
	return t
}

// shows waits until a text was shown.
func (t *tailing) shows(text string) {
	t.Helper()
	for end := time.Now().Add(pacetest.Patience); !strings.Contains(t.out.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not shown:\n%s%s", text, t.out.String(), t.err.String())
		}
	}
}

// TestTailGoesOn: each event is shown once, including the events while the server was away.
func TestTailGoesOn(t *testing.T) {
	h := &hosted{t, redistest.Start(t).URL()}
	document := filepath.Join(t.TempDir(), "failing.yaml")
	if err := os.WriteFile(document, []byte(failingDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	h.exits(exitOK, "deploy", document)
	s := h.serve()
	tail := h.tails("--server", s.url, "--since", "1h", "--type", "workflow,task.faulted")
	h.exits(exitOK, "start", "demo/failing", "--id", "first")
	tail.shows("workflow.faulted       demo/first")
	s.stop()
	h.exits(exitFaulted, "run", document, "--id", "meanwhile")
	h.listening("serve", "--listen", strings.TrimPrefix(s.url, "http://"))
	tail.shows("workflow.faulted       demo/meanwhile")
	h.exits(exitOK, "start", "demo/failing", "--id", "last")
	tail.shows("workflow.faulted       demo/last")
	if code := tail.stop(); code != exitInterrupt {
		t.Errorf("it ended with %d", code)
	}
	if text := tail.err.String(); !strings.Contains(text, "the request is repeated until the server answers") {
		t.Errorf("it says: %s", text)
	}
	for _, id := range []string{"first", "meanwhile", "last"} {
		if n := strings.Count(tail.out.String(), "workflow.faulted       demo/"+id); n != 1 {
			t.Errorf("%s failed %d times:\n%s", id, n, tail.out.String())
		}
	}
}

// TestTailOfWhatIsEmitted: events that workflows emit are shown in their place; -o ndjson shows them as listeners get them.
func TestTailOfWhatIsEmitted(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	s := h.serve()
	h.exits(exitOK, "deploy", mustWriteFile(t, "emit.yaml", "document: {dsl: 1.0.3, namespace: demo, name: emit, version: 0.1.0}\ndo:\n- tell: {emit: {event: {with: {id: \"7\", type: order.placed, data: [7]}}}}\n"))
	all, chosen := h.tails("--server", s.url, "--since", "1h"), h.tails("--server", s.url, "--since", "1h", "--type", "emitted", "-o", "ndjson")
	h.exits(exitOK, "start", "demo/emit", "--id", "one")
	chosen.shows("\n")
	if text := chosen.out.String(); !strings.HasPrefix(text, `{"data":[7],"datacontenttype":"application/json","id":"7","source":"/demo/emit/0.1.0",`) || strings.Count(text, "\n") != 1 {
		t.Errorf("it shows %s", text)
	}
	all.shows("workflow.completed     demo/one")
	const emitted = "emitted                demo/one order.placed source=/demo/emit/0.1.0 id=7"
	if text := all.out.String(); strings.Count(text, emitted) != 1 || strings.Index(text, emitted) < strings.Index(text, "task.started") || strings.Index(text, emitted) > strings.Index(text, "task.completed") {
		t.Errorf("it shows %s", text)
	}
}

// TestTailOfAFile: the past events of a file are shown, and then a message that no further events happen in it.
func TestTailOfAFile(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	document := filepath.Join(t.TempDir(), "failing.yaml")
	if err := os.WriteFile(document, []byte(failingDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	h.exits(exitFaulted, "run", document, "--id", "a")
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	c.now = time.Now
	if code := run([]string{"events", "tail", "--since", "1h"}, c.streams); code != exitStore {
		t.Errorf("it ended with %d", code)
	}
	if out := c.stdout.String(); !strings.Contains(out, "task.faulted           demo/a /do/") {
		t.Errorf("it shows:\n%s", out)
	}
	if text := c.stderr.String(); !strings.Contains(text, "no events happen in "+h.url) || !strings.Contains(text, "swrun serve") {
		t.Errorf("it says: %s", text)
	}
}
