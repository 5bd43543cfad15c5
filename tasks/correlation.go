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

// correlation compares a value of an event with an expected value, or with the same value of the events that were consumed before (semantics 14.7).
type correlation struct {
	key     string
	from    *expr.Template
	expect  *expr.Template // nil if nothing is expected, or a literal
	written string         // expect, as written in the document
	literal string         // the expected literal; empty if no literal is expected
	source  string         // of from, if it depends only on the event; empty otherwise
	secret  bool           // the expected value comes from a secret
}

// correlations are the known values of correlations by key, and the known expected values by their expressions. An expression for an expected value
// is evaluated once, even if the task continues in another version of the workflow.
type correlations struct {
	Expected map[string]interpreter.Value `json:"expected,omitempty"`
	Bound    map[string]interpreter.Value `json:"bound,omitempty"`
}

func compileCorrelations(b *interpreter.Builder, f *dsl.EventFilter) (all []correlation) {
	for _, key := range slices.Sorted(maps.Keys(f.Correlate)) {
		written := f.Correlate[key]
		c := correlation{key: key, source: strings.TrimSpace(delimited.Inside(written.From.Text))}
		if written.IsAttribute() {
			c.source = "." + c.source
		}
		c.from = b.Value(dsl.Value{Pointer: written.From.Pointer, Data: "${" + c.source + "}", Form: dsl.FormTransform})
		if c.from == nil || c.from.Impure() || len(c.from.Variables()) > 0 {
			c.source = ""
		}
		if written.ExpectsExpression() {
			c.written = written.Expect.Text
			c.expect = b.Value(dsl.Value{Pointer: written.Expect.Pointer, Data: written.Expect.Text, Form: dsl.FormTransform})
		} else {
			c.literal = written.Expect.Text
		}
		if c.expect != nil && slices.ContainsFunc(c.expect.Variables(), isSecretVariable) {
			c.secret, c.source = true, "" // an index contains nothing of a secret
		}
		all = append(all, c)
	}
	return all
}

func isSecretVariable(name string) bool { return name == "secrets" || name == "secret" }

// expect evaluates the expected values of a filter's correlations once, when the task begins to listen.
func (f *eventFilter) expect(s *interpreter.Scope, known *correlations) *errors.Error {
	for _, c := range f.correlate {
		if _, known := known.Expected[c.written]; c.expect == nil || known {
			continue
		}
		v, err := s.Eval(c.expect, s.Input())
		if err != nil {
			return err
		}
		if known.Expected == nil {
			known.Expected = map[string]interpreter.Value{}
		}
		known.Expected[c.written] = interpreter.Value{V: v}
	}
	return nil
}

// refuses returns a function that explains why an event lacks the required value; nil if the event contains the value.
func (c *correlation) refuses(s *interpreter.Scope, event map[string]any, known *correlations) func() string {
	value, err := s.Eval(c.from, any(event))
	switch {
	case err != nil:
		return func() string { return err.Detail }
	case value == nil:
		return func() string { return "its value is null" }
	case c.literal != "" && !sameText(value, c.literal):
		return func() string { return "it is " + shown(value) + " instead of " + shown(c.literal) }
	}
	if expected := known.Expected[c.written]; c.expect != nil && !meets(value, expected.V) {
		return func() string { return "it is " + shown(value) + c.instead(expected.V) }
	}
	if bound, is := known.Bound[c.key]; is && !c.expects() && !expr.Equal(value, bound.V) {
		return func() string { return "it is " + shown(value) + ", and that of the events before is " + shown(bound.V) }
	}
	return nil
}

// instead describes the expected value, unless the expected value is a boolean that decides or may be a secret.
func (c *correlation) instead(expected any) string {
	if _, decides := expected.(bool); decides || c.secret {
		return ", which is not the expected value"
	}
	return " instead of " + shown(expected)
}

// expects reports whether the correlation specifies the value.
func (c *correlation) expects() bool { return c.expect != nil || c.literal != "" }

// meets reports whether a value equals the expected value. If the expected value is a boolean and the value is not, the boolean is the answer.
func meets(value, expected any) bool {
	if holds, ok := expected.(bool); ok {
		if _, same := value.(bool); !same {
			return holds
		}
	}
	return expr.Equal(value, expected)
}

// sameText reports whether a value is a literal text, or a number or boolean that is written in the same way.
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

// met returns the common value of the consumed events, if they share one value and it is no secret.
func (c *correlation) met(known correlations) (v any, is bool) {
	if c.secret {
		return nil, false
	}
	if c.literal != "" {
		return c.literal, true
	}
	if c.expect == nil {
		bound, is := known.Bound[c.key]
		return bound.V, is
	}
	expected, is := known.Expected[c.written]
	if _, decides := expected.V.(bool); decides { // the value to which it belongs is not known
		return nil, false
	}
	return expected.V, is
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
	expected, is := known.Expected[c.written]
	if _, decides := expected.V.(bool); !is || decides {
		return nil, false
	}
	return expected.V, true
}
