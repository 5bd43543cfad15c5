//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// TestRunsThatOutlastARun: `run --id` names the children that end with the run, and that are not ended. It leaves after ten seconds, or on Ctrl-C.
// The output and the exit code are the same as of the run.
func TestRunsThatOutlastARun(t *testing.T) {
	for name, interrupt := range map[string]bool{"ten seconds": false, "Ctrl-C": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHosted(t)
			folder := t.TempDir()
			for name, text := range map[string]string{
				"child.yaml": "document: {dsl: 1.0.3, namespace: demo, name: child, version: 0.1.0}\ndo: [{w: {run: {shell: {command: sleep 1000}}}}]\n",
				"parent.yaml": "document: {dsl: 1.0.3, namespace: demo, name: parent, version: 0.1.0}\ndo:\n" +
					"- f:\n    for: {in: '${ [range(12)] }'}\n    do: [{a: {run: {workflow: {namespace: demo, name: child, version: 0.1.0}, await: false}, metadata: {swrun: {parentClose: cancel}}}}]\n" +
					"- w: {listen: {to: {one: {with: {type: go}}}}}\n- b: {set: {n: 1}}\n",
			} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			worker, ready := h.process("worker", "--allow-processes", "--lease", "10m") // it takes some of the children
			ready.until(t, "the worker is ready")
			running, said := h.process("run", filepath.Join(folder, "parent.yaml"), "--id", "one", "--progress", "lines")
			h.until(`[12]`, "ls", "--where", "workflow=demo/child status=running", "-o", "json", "--jq", "[length]")
			if err := worker.Process.Signal(syscall.SIGSTOP); err != nil { // and keeps them
				t.Fatal(err)
			}
			h.exits(exitOK, "events", "publish", mustWriteFile(t, "go.json", `{"specversion": "1.0", "id": "1", "source": "/x", "type": "go"}`))
			said.until(t, "run.outlasted")
			if interrupt {
				if err := running.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
			}
			ends(t, running, exitOK)
			if out := running.Stdout.(*told).String(); out != `{"n":1}`+"\n" {
				t.Errorf("the output is %q", out)
			}
			_, left, _ := strings.Cut(said.String(), "one ended, and these runs that end with it are still in progress: demo/")
			if left, _, _ = strings.Cut(left, ","); left == "" || !strings.Contains(h.exits(exitOK, "ls", "--where", "status=running", "-o", "name"), left) {
				t.Errorf("it says %s", said)
			}
			h.awaitWhileItEnds(t)
		})
	}
}

// awaitWhileItEnds waits for the children of a run with contexts that end during a request to the store: the remaining children are reported anyway.
func (h *hosted) awaitWhileItEnds(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), h.url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	run := engine.Run("demo", "one")
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for range 20 {
		waiting.Go(func() {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			left, err := run.AwaitChildren(ctx, func([]interpreter.Path) {
				end()
				time.Sleep(50 * time.Millisecond) // the next look at the store is due, which half of these calls begin
			})
			if len(left) == 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}
