package main

import (
	"errors"
	"strings"
	"testing"
)

func TestColors(t *testing.T) {
	for _, c := range []struct {
		name    string
		tty     bool
		env     map[string]string
		noColor bool
		want    bool
	}{
		{"a terminal", true, nil, false, true},
		{"no terminal", false, nil, false, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false, false},
		{"an empty NO_COLOR does not count", true, map[string]string{"NO_COLOR": ""}, false, true},
		{"a dumb terminal", true, map[string]string{"TERM": "dumb"}, false, false},
		{"FORCE_COLOR without a terminal", false, map[string]string{"FORCE_COLOR": "1"}, false, true},
		{"FORCE_COLOR wins over NO_COLOR", true, map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false, true},
		{"FORCE_COLOR=0 does not count", false, map[string]string{"FORCE_COLOR": "0"}, false, false},
		{"the flag wins", true, map[string]string{"FORCE_COLOR": "1"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newLook(capture(c.env).streams, c.tty, c.noColor, false).color; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain ✔ 名前", "plain ✔ 名前"},
		{"\x1b[2J", `\x1b[2J`},
		{"a\tb\nc\r", `a\tb\nc\r`},
		{"\u009b31m", `\x9b31m`},
		{"\u202etxt", `\u202etxt`},
		{"\xff", `\xff`},
	} {
		if got := printable(c.in); got != c.want {
			t.Errorf("printable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

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
