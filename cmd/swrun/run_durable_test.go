package main

import (
	"path/filepath"
	"testing"
	"time"
)

// TestCompletedRunIsNotTakenForANewOne: on a terminal, running a completed run again reports that nothing was run. A program that reads the output
// gets the output, and nothing else.
func TestCompletedRunIsNotTakenForANewOne(t *testing.T) {
	file := mustWriteFile(t, "a.yaml", "document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\ndo: [{a: {set: {x: 1}}}]\n")
	store := "file:" + filepath.Join(t.TempDir(), "runs.db")
	again := func(terminal bool) (stdout, stderr string) {
		c := capture(nil)
		c.now, c.errTTY = time.Now, terminal
		if code := run([]string{"run", file, "--id", "a-1", "--store", store, "--progress", "none"}, c.streams); code != exitOK {
			t.Fatalf("it ended with %d: %s", code, c.stderr.String())
		}
		return c.stdout.String(), c.stderr.String()
	}
	_, stderr := again(true)
	contains(t, stderr, "!nothing has run now")
	stdout, stderr := again(true)
	contains(t, stdout, `{"x":1}`)
	contains(t, stderr, "nothing has run now: a-1 ended before, at 20")
	if stdout, stderr = again(false); stdout != `{"x":1}`+"\n" || stderr != "" {
		t.Errorf("without a terminal it prints %q and %q", stdout, stderr)
	}
}
