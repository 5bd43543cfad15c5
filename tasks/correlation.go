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
	from    *expr.Template
	expect  *expr.Template // nil if nothing is expected, or a literal
	written string         // expect, as the document has it
	literal string         // that is expected; empty if none is
	source  string         // of from, if it depends on nothing but the event; empty otherwise
	secret  bool           // what is expected comes from a secret
}

// correlations are what is known of the values of correlations, by the key and, of what is expected, by the expression that has yielded it: that is
// evaluated once, also if the task goes on in another version of the workflow.
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
			c.secret, c.source = true, "" // nothing of a secret is kept in an index
		}
		all = append(all, c)
	}
	return all
}

func isSecretVariable(name string) bool { return name == "secrets" || name == "secret" }

// expect evaluates what the correlations of a filter expect, once, when the task begins to listen.
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

// refuses returns what says why an event has not the value that it needs; nil if it has.
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

// instead says what was expected, unless that decides itself or may be a secret.
func (c *correlation) instead(expected any) string {
	if _, decides := expected.(bool); decides || c.secret {
		return ", which is not what was expected"
	}
	return " instead of " + shown(expected)
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

// met returns the value that the events have that were consumed, if it is one and the same, and no secret.
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
	if _, decides := expected.V.(bool); decides { // it is not known of which value
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
