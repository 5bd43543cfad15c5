package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWaitingForARunWhoseHolderEnds: if the holder of the file ends, regularly or by kill -9, verbs that wait through it end with the remedy, or
// continue with the next holder of the file. A history shows no record twice, and a leftover socket does not matter.
func TestWaitingForARunWhoseHolderEnds(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
		holder, said := h.process("serve", "--listen", "127.0.0.1:0")
		said.until(t, "listening on")
		h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
		h.exits(exitOK, "start", "demo/nap", "--id", "nap-1")
		h.until("waiting for the timer", "describe", "nap-1")
		waiting := map[string]*exec.Cmd{}
		for _, args := range [][]string{{"wait", "nap-1"}, {"output", "nap-1", "--wait"}, {"history", "nap-1", "--follow"}} {
			waiting[args[0]], _ = h.process(args...)
		}
		out := waiting["history"].Stdout.(*told)
		out.until(t, "task.started")
		if err := holder.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = holder.Wait() // it received a signal to end
		for verb, cmd := range waiting {
			ends(t, cmd, exitStore)
			if text := cmd.Stderr.(*told).String(); !strings.Contains(text, "is still in progress, and no worker can continue it while this command has file:") || !strings.Contains(text, "\n  swrun ") {
				t.Errorf("%s says %s", verb, text)
			}
		}
		if n := strings.Count(out.String(), "workflow.started"); n != 1 {
			t.Errorf("%d times: %s", n, out)
		}
		again, said := h.process("worker")
		said.until(t, "the worker is ready")
		follows, _ := h.process("wait", "nap-1")
		h.exits(exitOK, "cancel", "nap-1")
		ends(t, follows, exitCancelled)
		if err := again.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ends(t, again, exitOK)
	}
}

// TestHolderThatDoesNotAnswer: a holder that is stopped is reported, and delays no verb.
func TestHolderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	holder, said := h.process("worker")
	said.until(t, "the worker is ready")
	h.until("NAME", "workers")
	if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(holder.Process.Pid, nil, syscall.WUNTRACED, nil); err != nil { // all its threads are stopped
		t.Fatal(err)
	}
	asks := capture(map[string]string{"SWRUN_STORE": h.url})
	if code := run([]string{"ls"}, asks.streams); code != exitStore || !strings.Contains(asks.stderr.String(), "runs.db does not answer") {
		t.Errorf("it ended with %d: %s", code, asks.stderr.String())
	}
}
