package tasks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime"
	"github.com/swrun/swrun/tasks"
)

// runDocument runs tasks as a user would.
func runDocument(t *testing.T, config tasks.Config, document string) runtime.Outcome {
	t.Helper()
	w, diagnostics := dsl.Parse("test.yaml", []byte(header+document))
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	p, diagnostics := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(config), Secrets: config.Secrets, Load: config.Load})
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	outcome, err := runtime.Run(context.Background(), p, nil, runtime.Local{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func wantTimeout(t *testing.T, outcome runtime.Outcome, instance string) {
	t.Helper()
	if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Timeout) || outcome.Fault.Instance != instance {
		t.Errorf("the run is %s: %v, want a timeout at %s", outcome.Status, outcome.Fault, instance)
	}
}

// TestTimeoutCutsRequest: the server sees its request end.
func TestTimeoutCutsRequest(t *testing.T) {
	cut := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(cut)
	}))
	defer server.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf(`  - ask:
      call: http
      with: { method: get, endpoint: '%s' }
      timeout: { after: PT1S }
`, server.URL))
	wantTimeout(t, outcome, "/do/0/ask")
	<-cut
}

// TestTimeoutCutsResponse: also in the middle of a body.
func TestTimeoutCutsResponse(t *testing.T) {
	cut := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("first"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(cut)
	}))
	defer server.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf(`  - outer:
      timeout: { after: PT1S }
      do:
        - ask:
            call: http
            with: { method: get, endpoint: '%s' }
`, server.URL))
	wantTimeout(t, outcome, "/do/0/outer")
	<-cut
}

// TestTimeoutKillsProcessGroup: the shell, and a grandchild that ignores SIGTERM, are gone from the process table.
func TestTimeoutKillsProcessGroup(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	outcome := runDocument(t, tasks.Config{Processes: processtest.Pool(t), Grace: 50 * time.Millisecond}, fmt.Sprintf(`  - work:
      run:
        shell:
          command: |
            trap '' TERM
            sh -c "trap '' TERM; echo started > %[1]s; while :; do sleep 0.01; done" %[1]s &
            wait
      timeout: { after: PT0.5S }
`, mark))
	wantTimeout(t, outcome, "/do/0/work")
	if _, err := os.Stat(mark); err != nil {
		t.Fatal("the grandchild never started, so that nothing is shown: ", err)
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// processesWith returns the command lines of the processes that hold text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatal("no process table", err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), text) { // a process may end while we look
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestTimeoutEndsScript: an endless loop does not outlive its task.
func TestTimeoutEndsScript(t *testing.T) {
	outcome := runDocument(t, tasks.Config{Processes: processtest.Pool(t)}, `  - loop:
      run:
        script:
          language: js
          code: for (;;) {}
      timeout: { after: PT0.1S }
`)
	wantTimeout(t, outcome, "/do/0/loop")
}

// TestLosersOfARaceAreCut: what competes and loses is cancelled at once.
func TestLosersOfARaceAreCut(t *testing.T) {
	cut := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(cut)
	}))
	defer server.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf(`  - race:
      fork:
        compete: true
        branches:
          - slow: { call: http, with: { method: get, endpoint: '%s' } }
          - fast: { wait: PT1S }
`, server.URL))
	if outcome.Status != interpreter.StatusCompleted {
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	<-cut
}
