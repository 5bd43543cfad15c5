package tasks_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/tasks"
)

// runDocument runs tasks as a user would.
func runDocument(t *testing.T, config tasks.Config, document string) execution.Outcome {
	t.Helper()
	w, diagnostics := dsl.Parse("test.yaml", []byte(header+document))
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	p, diagnostics := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(config), Secrets: config.Secrets, Load: config.Load})
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	outcome, err := local.Run(context.Background(), p, nil, local.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func wantTimeout(t *testing.T, outcome execution.Outcome, instance string) {
	t.Helper()
	if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Timeout) || outcome.Fault.Instance != instance {
		t.Errorf("the run is %s: %v, want a timeout at %s", outcome.Status, outcome.Fault, instance)
	}
}

// wantCut runs a document whose only request is never answered, or whose answer stops after some text, until the task's deadline ends it. Each
// attempt gives the request twice the time to arrive, because a machine may be busy.
func wantCut(t *testing.T, text, instance string, run func(url, after string) execution.Outcome) {
	t.Helper()
	cut := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(text))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		select {
		case cut <- struct{}{}:
		default: // an earlier attempt was cut
		}
	}))
	defer server.Close()
	for after := 100 * time.Millisecond; after < time.Minute; after *= 2 {
		wantTimeout(t, run(server.URL, fmt.Sprintf("PT%gS", after.Seconds())), instance)
		select {
		case <-cut:
			return
		case <-time.After(after): // it has not arrived, or the end of its connection has not
		}
	}
	t.Fatal("no request was cut")
}

// wantEnd runs a document whose only task, ask, calls a server that talks as the test specifies. If early is set, the task ends with an error before
// its timeout; otherwise it ends by its timeout. No connection remains.
func wantEnd(t *testing.T, talk func(*counterpart, net.Conn), early bool, run func(config tasks.Config, url, after string) execution.Outcome) {
	t.Helper()
	server := mustListen(t, talk)
	after := map[bool]string{false: "PT0.3S", true: "PT60S"}[early]
	transport := tasks.NewTransport(tasks.TransportConfig{})
	outcome := run(tasks.Config{Transport: transport}, "http://"+server.Addr().String(), after)
	if !early {
		wantTimeout(t, outcome, "/do/0/ask")
	} else if f := outcome.Fault; f == nil || f.Type != errors.Limit && !errors.Same(f.Type, errors.Communication) {
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	transport.CloseIdleConnections()
	server.Close()
	server.talks.Wait() // it returns when no connection is left
}

// TestTimeoutCutsRequest: the server sees its request end.
func TestTimeoutCutsRequest(t *testing.T) {
	wantCut(t, "", "/do/0/ask", func(url, after string) execution.Outcome {
		return runDocument(t, tasks.Config{}, fmt.Sprintf(`  - ask:
      call: http
      with: { method: get, endpoint: '%s' }
      timeout: { after: %s }
`, url, after))
	})
}

// TestTimeoutCutsResponse: a timeout ends a response also in the middle of a body.
func TestTimeoutCutsResponse(t *testing.T) {
	wantCut(t, "first", "/do/0/outer", func(url, after string) execution.Outcome {
		return runDocument(t, tasks.Config{}, fmt.Sprintf(`  - outer:
      timeout: { after: %[2]s }
      do:
        - ask:
            call: http
            with: { method: get, endpoint: '%[1]s' }
`, url, after))
	})
}

// TestTimeoutKillsProcessGroup: the shell, and a grandchild that ignores SIGTERM, disappear from the process table.
func TestTimeoutKillsProcessGroup(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	config := tasks.Config{Processes: processtest.Pool(t), KillAfter: 50 * time.Millisecond}
	for after := 0.2; ; after *= 2 { // a machine may be busy
		wantTimeout(t, runDocument(t, config, fmt.Sprintf(`  - work:
      run:
        shell:
          command: |
            trap '' TERM
            sh -c "trap '' TERM; echo started > %[1]s; while :; do sleep 0.01; done" %[1]s &
            wait
      timeout: { after: PT%[2]gS }
`, mark, after)), "/do/0/work")
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if after > 60 {
			t.Fatal("the grandchild never started, so that nothing is shown")
		}
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// processesWith returns the command lines of the processes that contain text.
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

// TestLosersOfARaceAreCut: the losing branches of a race are cancelled immediately. The winner gets its answer when the loser's request arrives.
func TestLosersOfARaceAreCut(t *testing.T) {
	arrived, cut := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fast" {
			<-arrived
			return
		}
		close(arrived)
		<-r.Context().Done()
		close(cut)
	}))
	defer server.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf(`  - race:
      timeout: { after: PT60S }
      fork:
        compete: true
        branches:
          - slow: { call: http, with: { method: get, endpoint: '%[1]s/slow' } }
          - fast: { call: http, with: { method: get, endpoint: '%[1]s/fast' } }
`, server.URL))
	if outcome.Status != interpreter.StatusCompleted {
		t.Fatalf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	select {
	case <-cut:
	case <-time.After(pacetest.Patience):
		t.Error("the loser is not cut")
	}
}
