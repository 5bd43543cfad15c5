package main

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
)

const oneText = "document: { dsl: 1.0.3, namespace: demo, name: one, version: 0.1.0 }\ndo:\n  - a: { set: { x: 1 } }\n"

func TestATerminalShowsTheTree(t *testing.T) {
	c := capture(nil)
	c.errTTY = true
	if code := run([]string{"run", mustWriteFile(t, "one.yaml", oneText)}, c.streams); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if got := c.stdout.String(); got != "{\"x\":1}\n" {
		t.Errorf("stdout %q", got)
	}
	if got := c.stderr.String(); !strings.Contains(got, "demo/one:0.1.0") || !strings.Contains(got, "\x1b[32m✔ \x1b[0ma   set") {
		t.Errorf("stderr %q", got)
	}
}

func TestADumbTerminalGetsNoCursorMoves(t *testing.T) {
	c := capture(map[string]string{"TERM": "dumb"})
	c.errTTY = true
	run([]string{"run", mustWriteFile(t, "one.yaml", oneText)}, c.streams)
	if got := c.stderr.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, "✔ completed in") {
		t.Errorf("stderr %q", got)
	}
}

func TestBugsAndBrokenStreamsAreInternalErrors(t *testing.T) {
	c := capture(nil)
	c.out = brokenWriter{}
	if code := run([]string{"run", mustWriteFile(t, "one.yaml", oneText)}, c.streams); code != exitInternal {
		t.Errorf("a broken stdout: exit %d, want %d", code, exitInternal)
	}
	c = capture(nil)
	c.env = nil
	if code := run([]string{"validate", mustWriteFile(t, "one.yaml", oneText)}, c.streams); code != exitInternal {
		t.Errorf("a panic: exit %d, want %d", code, exitInternal)
	}
	if got := c.stderr.String(); !strings.HasPrefix(got, "swrun: internal error, please report it: ") {
		t.Errorf("stderr %q", got)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }
