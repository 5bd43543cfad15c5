package progress

import (
	"bytes"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
)

// TestTreeOfATaskThatListens: the tree shows the events that a task waits for and the number of arrived events, until it has all of them.
func TestTreeOfATaskThatListens(t *testing.T) {
	for _, c := range []struct{ to, before, after string }{
		{"{one: {with: {type: paid}}}", "waits for paid", "waits for paid, 1 came"},
		{"{all: [{with: {type: paid}}, {with: {type: packed}}]}", "waits for paid and packed, 0 of 2 came", "waits for paid and packed, 1 of 2 came"},
		{"{any: []}", "waits for any event", "waits for any event, 1 came"},
		{"{any: [{with: {type: '${ .t }'}}, {with: {subject: x}}]}", "waits for an event or an event", "waits for an event or an event, 1 came"},
		{"{any: [{with: {type: a}}, {with: {type: b}}, {with: {type: c}}, {with: {type: d}}, {with: {type: e}}]}", "waits for a or b or c or 2 more", ", 1 came"},
		{"{one: {with: {type: \"a\\x1b[2Jb\"}}}", "waits for a", "1 came"},
	} {
		w, diagnostics := dsl.Parse("w.yaml", []byte("document: {dsl: 1.0.3, namespace: t, name: w, version: 0.1.0}\ndo: [{l: {listen: {to: "+c.to+"}}}, {s: {set: {a: 1}}}]"))
		if err := diagnostics.Err(); err != nil {
			t.Fatal(c.to, err)
		}
		const path = "/do/0/l"
		record := func(kind interpreter.HistoryEventType) interpreter.HistoryEvent {
			return interpreter.HistoryEvent{At: quoteTime, Type: kind, Kind: dsl.KindListen, Pointer: path, Path: path}
		}
		v := newTreeView(&bytes.Buffer{}, Run{Workflow: w, ID: "r"}, terminal.Style{})
		shown := func() string { return strings.Join(aligned(v.rows(quoteTime, nil)), "\n") }
		v.observe(record(interpreter.TaskStarted))
		if got := shown(); !strings.Contains(got, c.before) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q, want %s", c.to, got, c.before)
		}
		v.observe(record(interpreter.EventConsumed))
		if got := shown(); !strings.Contains(got, c.after) {
			t.Errorf("%s: %q, want %s", c.to, got, c.after)
		}
		v.observe(record(interpreter.TaskCompleted))
		if got := shown(); strings.Contains(got, "waits for") {
			t.Errorf("%s: %q", c.to, got)
		}
	}
}
