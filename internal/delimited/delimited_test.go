package delimited_test

import (
	"testing"

	"github.com/swrun/swrun/internal/delimited"
)

func TestIs(t *testing.T) {
	for _, c := range []struct {
		text, inside string
		delimited    bool
	}{
		{"${ .a }", " .a ", true},
		{" \n${.a}\t", ".a", true},
		{"${}", "", true},
		{"${ {a: 1} }", " {a: 1} ", true},
		{"a ${ .a }", "a ${ .a }", false},
		{"${ .a } b", "${ .a } b", false},
		{"${ .a", "${ .a", false},
		{"{ .a }", "{ .a }", false},
		{"$", "$", false},
		{"", "", false},
	} {
		if got := delimited.Is(c.text); got != c.delimited {
			t.Errorf("%q: got %v", c.text, got)
		}
		if got := delimited.Inside(c.text); got != c.inside {
			t.Errorf("%q: got %q, want %q", c.text, got, c.inside)
		}
	}
}
