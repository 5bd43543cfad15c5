package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/golden"
	"github.com/swrun/swrun/internal/pacetest"
)

// noDelay lets a program that is built with the race detector end immediately, and not a second later.
const noDelay = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", noDelay)
	}
	pacetest.WaitMuch()
	swrun.Supervise().Close() // the tests may be started as a supervisor
	testscript.Main(m, map[string]func(){
		"swrun": main,
	})
}

// command returns the command in a process of its own: the test's own binary is swrun if it has that name (TestMain). A process that does not end
// must print the stacks of its goroutines, and is killed.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Args[0] = "swrun"
	cmd.Cancel = func() error {
		if t.Context().Err() != nil {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(syscall.SIGQUIT)
	}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: golden.Update(), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "")
			e.Setenv("GORACE", noDelay)
			e.Setenv("STORE", "file:"+filepath.Join(e.WorkDir, "runs.db"))
			e.Setenv("SERVICE", serviceOf(e))
			return nil
		},
		Cmds: scriptCommands(),
	})
}

// exits runs a command and compares its exit code: exits 3 swrun validate bad.yaml.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want exit %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// captured is streams whose outputs are kept, with a clock that does not advance.
type captured struct {
	streams
	stdout, stderr bytes.Buffer
}

func capture(env map[string]string) *captured {
	c := &captured{}
	c.streams = streams{
		in: strings.NewReader(""), out: &c.stdout, err: &c.stderr,
		processes: swrun.Supervise(),
		width:     func() int { return 100 }, height: func() int { return 30 },
		env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		now: func() time.Time { return testTime },
	}
	return c
}

var testTime = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

func mustWriteFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
