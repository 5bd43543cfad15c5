//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const longText = `document: { dsl: 1.0.3, namespace: demo, name: long, version: 0.1.0 }
do:
  - pause: { wait: { hours: 1 } }
`

func TestASignalEndsTheRun(t *testing.T) {
	file := mustWriteFile(t, "long.yaml", longText)
	for _, c := range []struct {
		signal syscall.Signal
		want   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			// The test's own binary is swrun when it is called so: see TestMain.
			cmd := &exec.Cmd{Path: os.Args[0], Args: []string{"swrun", "run", "--progress", "lines", file}}
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stdout strings.Builder
			cmd.Stdout = &stdout
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				told.WriteString(lines.Text() + "\n")
				if strings.Contains(lines.Text(), "task.waiting") {
					if err := cmd.Process.Signal(c.signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			_ = cmd.Wait() // its exit code is looked at
			if got := cmd.ProcessState.ExitCode(); got != c.want {
				t.Errorf("exit %d, want %d:\n%s", got, c.want, told.String())
			}
			if !strings.Contains(told.String(), "⊘ demo/long:0.1.0 was interrupted") || stdout.Len() > 0 {
				t.Errorf("stdout %q, stderr\n%s", stdout.String(), told.String())
			}
		})
	}
}
