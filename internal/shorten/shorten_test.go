package shorten_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/shorten"
)

// TestTo: texts are cut between characters.
func TestTo(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"four", 4, "four"},
		{"fours", 4, "four…"},
		{"fünf", 2, "f…"},
		{"fünf", 3, "fü…"},
		{"x", 0, "…"},
	} {
		if got := shorten.To(c.text, c.most); got != c.want {
			t.Errorf("To(%q, %d) = %q", c.text, c.most, got)
		}
	}
}

// TestPanic: the value of any panic becomes one line.
func TestPanic(t *testing.T) {
	for _, c := range []struct {
		recovered any
		want      string
	}{
		{"first\n\tsecond\r\nthird", "first second third"},
		{errors.New("broken"), "broken"},
		{nil, "<nil>"},
		{strings.Repeat("x", 501), strings.Repeat("x", 500) + "…"},
	} {
		if got := shorten.Panic(c.recovered); got != c.want {
			t.Errorf("Panic(%q) = %q", c.recovered, got)
		}
	}
}
