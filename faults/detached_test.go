package faults

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
)

// TestKillDetached: a process that no task waits for continues when its run is cancelled, ends with its worker, and is not started again by another
// worker: its run continues without it. If it fails, its worker logs it.
func TestKillDetached(t *testing.T) {
	w := newWorld(t, time.Millisecond)
	notes := filepath.Join(t.TempDir(), "notes")
	w.start(2, fmt.Sprintf(`do:
- fails: {run: {shell: {command: 'exit 7'}, await: false}}
- a: {run: {shell: {command: 'echo "$KEY" >> %s; sleep 1000; : %s', environment: {KEY: '${ $workflow.id }'}}, await: false}}
- b: {wait: PT2S}
- c: {call: http, with: {method: get, endpoint: '@SINK/c'}}
`, notes, kindMark))
	first := w.work("--allow-processes")
	for len(noted(notes)) < len(w.runs) || !first.told("a task that nobody waits for has failed") {
		time.Sleep(5 * time.Millisecond)
	}
	cancelled := w.runs[1]
	if err := w.client.Cancel(t.Context(), cancelled, "not needed"); err != nil {
		t.Fatal(err)
	}
	for w.closed() < 1 {
		time.Sleep(5 * time.Millisecond)
	}
	if found := running(kindMark); len(found) < len(w.runs) {
		t.Errorf("when a run was cancelled, its process has ended: %q", found)
	}
	first.kill()
	w.work("--allow-processes")
	w.settle(pacetest.Patience)
	w.verifyNothingRuns()
	w.runs = w.runs[:1]
	w.audit(interpreter.StatusCompleted, nil)
	for run, n := range noted(notes) {
		if n != 1 {
			t.Errorf("the process of %s was begun %d times", run, n)
		}
	}
}
