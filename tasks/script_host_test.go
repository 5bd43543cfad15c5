package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/tasks"
)

const pythonScript = `  - work:
      run:
        script:
          language: python
          arguments: { n: 21 }
          code: |
            import sys
            print(n * 2, sys.argv[1:])
`

// TestPythonThatDoesNotRun: a command on PATH with the name of Python that does not run is skipped.
func TestPythonThatDoesNotRun(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "python3.13"), []byte("#!/bin/sh\nexit 127\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	outcome := runDocument(t, tasks.Config{Processes: processtest.Pool(t)}, pythonScript)
	if outcome.Status != interpreter.StatusCompleted || outcome.Output != "42 ['--n', '21']" {
		t.Errorf("the run is %s with %v, %v", outcome.Status, outcome.Output, outcome.Fault)
	}
}

func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	outcome := runDocument(t, tasks.Config{Processes: processtest.Pool(t)}, pythonScript)
	if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Configuration) || !strings.Contains(outcome.Fault.Detail, "install it") {
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
}

// TestProcessesAreNotGranted: a server runs no processes unless it is configured to do so.
func TestProcessesAreNotGranted(t *testing.T) {
	for _, task := range []string{pythonScript, "  - work: { run: { shell: { command: ls } } }\n", "  - work: { run: { script: { language: js, code: '1' } } }\n"} {
		outcome := runDocument(t, tasks.Config{}, task)
		if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Configuration) {
			t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
		}
	}
}
