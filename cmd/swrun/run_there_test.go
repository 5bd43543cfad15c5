package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
)

// elapsed matches the parts of the output of run that differ each time.
var elapsed = regexp.MustCompile(`\d+(\.\d+)?(ms|s)|\d\d:\d\d:\d\d(\.\d+)?|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// process returns the command in a process of its own, on a store.
func (h *hosted) process(args ...string) (*exec.Cmd, *told) {
	h.Helper()
	said := &told{lines: make(chan struct{}, 1)}
	cmd := command(h.T, args...)
	cmd.Env, cmd.Stderr, cmd.Stdout = append(os.Environ(), "SWRUN_STORE="+h.url, "NO_COLOR=1"), said, &told{lines: make(chan struct{}, 1)}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be ended already
		_ = cmd.Wait()
	})
	return cmd, said
}

// TestRunBesideTheHolder: while another process holds the file, it performs the document of run --id, and the command prints the same as alone.
func TestRunBesideTheHolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"echo.yaml":   "document: {dsl: 1.0.3, namespace: demo, name: echo, version: 1.0.0}\ninput: {schema: {resource: {endpoint: schema.json}}}\ndo:\n- child: {run: {workflow: {namespace: demo, name: part, version: 1.0.0, input: '${ . }'}}}\n",
		"part.yaml":   "document: {dsl: 1.0.3, namespace: demo, name: part, version: 1.0.0}\ndo:\n- part: {set: '${ {part: .} }'}\n",
		"schema.json": `{"type": "object", "required": ["n"]}`,
		"fails.yaml":  "document: {dsl: 1.0.3, namespace: demo, name: fails, version: 1.0.0}\ndo:\n- fails: {raise: {error: {type: https://example.com/b, status: 418, title: B}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lacks := mustWriteFile(t, "lacks.yaml", "document: {dsl: 1.0.3, namespace: demo, name: lacks, version: 1.0.0}\ninput: {schema: {resource: {endpoint: schema.json}}}\ndo:\n- a: {set: {a: 1}}\n")
	echo, fails := filepath.Join(folder, "echo.yaml"), filepath.Join(folder, "fails.yaml")
	asked := []askedVerb{
		{exitOK, []string{"run", echo, "--id", "one", "-i", "n:=12345678901234567890"}},
		{exitOK, []string{"run", echo, "--id", "one"}},
		{exitConflict, []string{"run", echo, "--id", "one", "-i", "n=2"}},
		{exitConflict, []string{"run", fails, "--id", "one"}},
		{exitInput, []string{"run", echo, "--id", "two"}},
		{exitFaulted, []string{"run", fails, "--id", "three"}},
		{exitUsage, []string{"run", echo, "--id", "a b"}},
		{exitOK, []string{"deploy", echo}}, // its schema is beside it, and not beside the server
		{exitInvalid, []string{"deploy", lacks}},
		{exitInvalid, []string{"run", lacks, "--id", "five"}},
		{exitOK, []string{"history", "one", "--jq", ".records | map(.type)", "-o", "json"}},
	}
	prints := func(h *hosted, c askedVerb) string {
		streams := capture(map[string]string{"SWRUN_STORE": h.url})
		streams.now = time.Now
		if code := run(c.args, streams.streams); code != c.code {
			t.Fatalf("%v ended with %d: %s", c.args, code, streams.stderr.String())
		}
		said := ""
		for _, line := range strings.SplitAfter(streams.stderr.String(), "\n") {
			if !strings.Contains(line, "is performed by the process that holds ") {
				said += line
			}
		}
		return streams.stdout.String() + elapsed.ReplaceAllString(said, "TIME")
	}
	alone, beside := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}, &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	beside.serve()
	for _, c := range asked {
		if got, want := prints(beside, c), prints(alone, c); got != want {
			t.Errorf("%v: beside a holder\n%s\nalone\n%s", c.args, got, want)
		}
	}
	secrets := mustWriteFile(t, "secrets.yaml", "a: b\n")
	for _, flags := range [][]string{{"--secrets", secrets}, {"--js", "node"}, {"--limit", "input=1MiB"}} {
		beside.exits(exitStore, append([]string{"run", echo, "--id", "four", "-i", "n=1"}, flags...)...)
	}
}

// until waits until a text was written.
func (w *told) until(t *testing.T, text string) {
	t.Helper()
	late := time.After(pacetest.Patience)
	for !strings.Contains(w.String(), text) {
		select {
		case <-w.lines:
		case <-late:
			t.Fatalf("%q was not written: %s", text, w)
		}
	}
}

// TestTwoRunsAtOnce: both runs continue at the same time, and when the holder of the file ends, regularly or by kill -9, the other process takes the file.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
		file := mustWriteFile(t, "rest.yaml", "document: {dsl: 1.0.3, namespace: demo, name: rest, version: 1.0.0}\ndo:\n- begins: {set: {begun: true}}\n- rests: {wait: PT1H}\n")
		first, said := h.process("run", file, "--id", "first", "--progress", "lines")
		said.until(t, "rests")
		second, also := h.process("run", file, "--id", "second", "--progress", "lines")
		also.until(t, "second is performed by the process that holds ")
		also.until(t, "rests")
		shown := strings.Count(also.String(), "begins")
		if killed {
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait() // it was killed
		} else {
			h.exits(exitOK, "cancel", "first")
			ends(t, first, exitCancelled)
		}
		h.until("waiting for the timer of /do/1/rests", "describe", "second")
		h.exits(exitOK, "cancel", "second")
		ends(t, second, exitCancelled)
		if got := strings.Count(also.String(), "begins"); got != shown {
			t.Errorf("what had happened was shown again: %s", also)
		}
	}
}

// ends waits for a command, and checks its exit code.
func ends(t *testing.T, cmd *exec.Cmd, code int) {
	t.Helper()
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != code {
		t.Errorf("%v ended with %d, not %d: %s", cmd.Args, cmd.ProcessState.ExitCode(), code, cmd.Stderr)
	}
}

// TestManyRunsAtOnce: any number of them share a file.
func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	file := mustWriteFile(t, "nap.yaml", "document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}\ndo:\n- nap: {wait: {milliseconds: 200}}\n- woke: {set: {woke: true}}\n")
	var running sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		running.Go(func() {
			cmd := command(t, "run", file, "--id", id, "--store", h.url)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "woke") {
				t.Errorf("%s ended with %v: %s", id, err, out)
			}
		})
	}
	running.Wait()
	if got := h.exits(exitOK, "ls", "--count", "--by", "status"); !strings.Contains(got, "completed") || !strings.Contains(got, "5") {
		t.Errorf("there are %s", got)
	}
}
