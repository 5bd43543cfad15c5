package tasks

import (
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/interpreter"
)

// correlation ties a value of an event to what is expected, or to the same value of the events that were consumed before
// (semantics 14.7).
type correlation struct {
	key     string
	pointer dsl.Pointer
	from    *expr.Template
	expect  *expr.Template // nil if nothing is expected, or a literal
	literal string         // that is expected; empty if none is
	source  string         // of from, if it depends on nothing but the event; empty otherwise
}

// correlations are what is known of the values of correlations, by the key and, of what is expected, by the pointer.
type correlations struct {
	Expected map[dsl.Pointer]interpreter.Value `json:"expected,omitempty"`
	Bound    map[string]interpreter.Value      `json:"bound,omitempty"`
}

func compileCorrelations(b *interpreter.Builder, f *dsl.EventFilter) (all []correlation) {
	for _, key := range slices.Sorted(maps.Keys(f.Correlate)) {
		written := f.Correlate[key]
		c := correlation{key: key, pointer: f.Pointer.Key("correlate").Key(key), source: strings.TrimSpace(delimited.Inside(written.From.Text))}
		if written.IsAttribute() {
			c.source = "." + c.source
		}
		c.from = b.Value(dsl.Value{Pointer: written.From.Pointer, Data: "${" + c.source + "}", Form: dsl.FormTransform})
		if c.from == nil || c.from.Impure() || len(c.from.Variables()) > 0 {
			c.source = ""
		}
		if written.ExpectsExpression() {
			c.expect = b.Value(dsl.Value{Pointer: written.Expect.Pointer, Data: written.Expect.Text, Form: dsl.FormTransform})
		} else {
			c.literal = written.Expect.Text
		}
		if c.expect != nil && slices.ContainsFunc(c.expect.Variables(), isSecretVariable) {
			c.source = "" // nothing of a secret is kept in an index
		}
		all = append(all, c)
	}
	return all
}

func isSecretVariable(name string) bool { return name == "secrets" || name == "secret" }

// expect evaluates what the correlations of a filter expect, once, when the task begins to listen.
func (f *eventFilter) expect(s *interpreter.Scope, known *correlations) *errors.Error {
	for _, c := range f.correlate {
		if c.expect == nil {
			continue
		}
		v, err := s.Eval(c.expect, s.Input())
		if err != nil {
			return err
		}
		if known.Expected == nil {
			known.Expected = map[dsl.Pointer]interpreter.Value{}
		}
		known.Expected[c.pointer] = interpreter.Value{V: v}
	}
	return nil
}

// refuses returns why an event has not the value that it needs; empty if it has.
func (c *correlation) refuses(s *interpreter.Scope, event map[string]any, known *correlations) string {
	value, err := s.Eval(c.from, any(event))
	switch {
	case err != nil:
		return err.Detail
	case value == nil:
		return "its value is null"
	case c.literal != "" && !sameText(value, c.literal):
		return notMatched(value, nil) + " instead of " + c.literal
	}
	if expected, is := known.Expected[c.pointer]; is && !meets(value, expected.V) {
		return notMatched(value, nil) + ", which is not what was expected"
	}
	if bound, is := known.Bound[c.key]; is && !c.expects() && !expr.Equal(value, bound.V) {
		return notMatched(value, nil) + ", and that of the events before is another"
	}
	return ""
}

// expects reports whether it is said what the value has to be.
func (c *correlation) expects() bool { return c.expect != nil || c.literal != "" }

// meets reports whether a value is what is expected. A boolean that is expected of another value says itself whether it is.
func meets(value, expected any) bool {
	if holds, ok := expected.(bool); ok {
		if _, same := value.(bool); !same {
			return holds
		}
	}
	return expr.Equal(value, expected)
}

// sameText reports whether a value is a literal text, or a number or boolean that is written so.
func sameText(value any, literal string) bool {
	switch v := value.(type) {
	case string:
		return v == literal
	case []any, map[string]any:
		return false
	}
	text, err := expr.Encode(value)
	return err == nil && string(text) == literal
}

// bind keeps the values of an event that is consumed, for the events that follow.
func (f *eventFilter) bind(s *interpreter.Scope, event map[string]any, known *correlations) {
	for _, c := range f.correlate {
		if _, is := known.Bound[c.key]; is || c.expects() {
			continue
		}
		if value, err := s.Eval(c.from, any(event)); err == nil {
			if known.Bound == nil {
				known.Bound = map[string]interpreter.Value{}
			}
			known.Bound[c.key] = interpreter.Value{V: value}
		}
	}
}

// value returns the value that an event must have, if an index can know it.
func (c *correlation) value(known correlations) (v any, is bool) {
	if c.source == "" {
		return nil, false
	}
	if bound, is := known.Bound[c.key]; is && !c.expects() {
		return bound.V, true
	}
	if c.literal != "" {
		return c.literal, true
	}
	expected, is := known.Expected[c.pointer]
	if _, decides := expected.V.(bool); !is || decides {
		return nil, false
	}
	return expected.V, true
}
