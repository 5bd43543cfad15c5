package filter

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Error is a filter that cannot be read, or that no run could ever fit.
type Error struct {
	Text    string // the wrong part of the filter; empty if a part is missing
	At      int    // where that begins: the number of its first character, from 1; 0 if it is not a part of a filter
	Problem string // rest of a sentence about Text: is not a field of a run
	Hint    string // the remedy; may be empty
}

// Error returns a sentence without the hint.
func (e *Error) Error() string {
	sentence := e.Problem
	if e.Text != "" {
		sentence = shorten.Quoted(e.Text) + " " + e.Problem
	}
	if e.At > 0 {
		sentence = fmt.Sprintf("at character %d: %s", e.At, sentence)
	}
	return sentence
}

// unknown returns the error of a text that is not among the allowed ones; what is the kind of the text.
func unknown(text, what string, allowed []string) error {
	e := &Error{Text: text, Problem: "is not " + what, Hint: "allowed: " + strings.Join(allowed, ", ")}
	if near := suggest.Nearest(text, allowed); near != "" {
		e.Problem += fmt.Sprintf("; did you mean %s?", near)
	}
	return e
}
