//go:build unix

package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
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
			cmd := command(t, "run", "--progress", "lines", file)
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
			_ = cmd.Wait() // the test checks its exit code
			if got := cmd.ProcessState.ExitCode(); got != c.want {
				t.Errorf("exit %d, want %d:\n%s", got, c.want, told.String())
			}
			if !strings.Contains(told.String(), "⊘ demo/long:0.1.0 was interrupted") || stdout.Len() > 0 {
				t.Errorf("stdout %q, stderr\n%s", stdout.String(), told.String())
			}
		})
	}
}

// TestASignalEndsTheWait: runs that continue after the run are reported. A signal ends the wait for them, and does not change the outcome of the run.
func TestASignalEndsTheWait(t *testing.T) {
	file := mustWriteFile(t, "beside.yaml", `document: { dsl: 1.0.3, namespace: demo, name: beside, version: 0.1.0 }
do:
  - one: { run: { await: false, shell: { command: "sleep 1000" } } }
  - two: { set: { done: true } }
`)
	for mode, says := range map[string]string{"lines": "run.outlasted", "tree": "waiting for what /do/0/one began, which Ctrl-C ends"} {
		cmd := command(t, "run", "--progress", mode, file)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout strings.Builder
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		told := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if strings.Contains(lines.Text(), says) && strings.Contains(lines.Text(), "/do/0/one") {
				told = true
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil || !told || stdout.String() != "{\"done\":true}\n" {
			t.Errorf("%s: told %v, it ends with %v, %q", mode, told, err, stdout.String())
		}
	}
}

func TestASignalStopsWhatTheRunHasStarted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pid")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	file := mustWriteFile(t, "shell.yaml", `document: { dsl: 1.0.3, namespace: demo, name: shell, version: 0.1.0 }
do:
  - sleep: { run: { shell: { command: "echo $$ > 'PIPE'; exec sleep 1000" } } }
`)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "PIPE", pipe, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := command(t, "run", file)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(pipe) // blocks until the shell writes
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the test checks its exit code
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupt {
		t.Errorf("exit %d, want %d:\n%s", got, exitInterrupt, stderr.String())
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the shell's process is still there: %v", err)
	}
}
