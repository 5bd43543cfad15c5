package main

import (
	"strings"
	"testing"
)

// TestJSONIsForPeopleOnATerminal: JSON is indented on a terminal, and on one line for programs.
func TestJSONIsForPeopleOnATerminal(t *testing.T) {
	for terminal, want := range map[bool]string{true: "{\n  \"a\": 12345678901234567890,\n  \"b\": []\n}\n", false: `{"a":12345678901234567890,"b":[]}` + "\n"} {
		c := capture(nil)
		c.outTTY = terminal
		if code := run([]string{"expr", "{b: [], a: 12345678901234567890}"}, c.streams); code != exitOK || c.stdout.String() != want {
			t.Errorf("terminal %t: exit %d, %q%s, want %q", terminal, code, c.stdout.String(), c.stderr.String(), want)
		}
	}
	c := capture(nil)
	c.outTTY = true
	file := mustWriteFile(t, "a.yaml", "document: {dsl: 1.0.3, namespace: demo, name: a, version: 0.1.0}\ndo:\n- a: {set: {x: {y: 1}}}\n")
	if run([]string{"run", file}, c.streams); !strings.HasPrefix(c.stdout.String(), "{\n  \"x\": {\n") {
		t.Errorf("run prints %q on a terminal", c.stdout.String())
	}
}
