package tasks

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/attribute"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// eventFilter lets events pass by their attributes, their data and their correlations. An empty filter lets all events pass except the engine's own
// events (semantics 14.2).
type eventFilter struct {
	pointer    dsl.Pointer
	attributes []attributeFilter // sorted by name
	correlate  []correlation     // sorted by key
}

// attributeFilter tests one attribute of an event, or its data.
type attributeFilter struct {
	name    string
	pattern pattern
}

func compileEventFilter(b *interpreter.Builder, f *dsl.EventFilter) *eventFilter {
	compiled := &eventFilter{pointer: f.Pointer, correlate: compileCorrelations(b, f)}
	with, _ := f.With.Data.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(with)) {
		compiled.attributes = append(compiled.attributes, attributeFilter{name, compilePattern(b, f.With.Pointer.Key(name), with[name])})
	}
	return compiled
}

// refusal explains why a filter does not let an event pass: the attribute, and the mistake in it. The explanation may take longer than the test.
type refusal func() (attribute, why string)

// refuses returns why the filter does not let an event pass; nil if it does.
func (f *eventFilter) refuses(s *interpreter.Scope, event map[string]any, known *correlations) refusal {
	if isLifecycle(event) && !f.names("type") {
		return func() (attribute, why string) {
			return "type", "events of the engine pass only filters that name their type"
		}
	}
	for _, a := range f.attributes {
		value, present := attributeOf(event, a.name)
		if !present {
			return func() (attribute, why string) { return a.name, absent }
		}
		if ok, err := a.pattern.matches(s, value); err != nil || !ok {
			return func() (attribute, why string) { return a.pattern.explain(s, a.name, value) }
		}
	}
	for _, c := range f.correlate {
		if why := c.refuses(s, event, known); why != nil {
			return func() (attribute, said string) { return "correlate." + c.key, why() }
		}
	}
	return nil
}

const absent = "the event has none"

// explain returns the part of a value that does not match, and the reason.
func (p pattern) explain(s *interpreter.Scope, at string, v any) (part, why string) {
	object, isObject := v.(map[string]any)
	if isObject && p.members != nil {
		for _, name := range slices.Sorted(maps.Keys(p.members)) {
			member, present := object[name]
			if !present {
				return at + "." + name, absent
			}
			if ok, err := p.members[name].matches(s, member); err != nil || !ok {
				return p.members[name].explain(s, at+"."+name, member)
			}
		}
	}
	list, isList := v.([]any)
	if isList && p.elements != nil && len(list) == len(p.elements) {
		for i, element := range p.elements {
			if ok, err := element.matches(s, list[i]); err != nil || !ok {
				return element.explain(s, fmt.Sprintf("%s[%d]", at, i), list[i])
			}
		}
	}
	if _, err := p.matches(s, v); err != nil {
		return at, err.Detail
	}
	if p.code != nil {
		return at, "it is " + shown(v)
	}
	return at, "it is " + shown(v) + " instead of " + shown(p.literal)
}

// shown returns a value in the form of refusals.
func shown(v any) string {
	text, _ := expr.Encode(v)
	return shorten.To(string(text), maxShown)
}

// maxShown is the maximum number of bytes of a value in a refusal.
const maxShown = 200

func (f *eventFilter) names(attribute string) bool {
	return slices.ContainsFunc(f.attributes, func(a attributeFilter) bool { return a.name == attribute })
}

// literalType returns the common type of all events that pass; empty if they may have several types.
func (f *eventFilter) literalType() string {
	for _, a := range f.attributes {
		if a.name == "type" {
			return a.pattern.literalText()
		}
	}
	return ""
}

func isLifecycle(event map[string]any) bool {
	kind, _ := event["type"].(string)
	return cloudevent.IsLifecycle(kind)
}

func attributeOf(event map[string]any, name string) (value any, present bool) {
	if name == "data" {
		return eventData(event)
	}
	value, present = event[name]
	return value, present && value != nil
}

// pattern is a condition on an attribute or a part of the data: literal data, in which texts may be regular expressions, or an expression (semantics
// 14.6).
type pattern struct {
	code     *expr.Template // of an expression; nil for a literal
	regexp   *regexp.Regexp // of a text that is a regular expression
	literal  any
	members  map[string]pattern // of an object: each of them has to match
	elements []pattern          // of an array: each of them has to match, and there are no others
}

func compilePattern(b *interpreter.Builder, at dsl.Pointer, v any) pattern {
	p := pattern{literal: v}
	switch v := v.(type) {
	case string:
		if expr.Delimited(v) {
			p.code = b.Value(dsl.Value{Pointer: at, Data: v, Form: dsl.FormData})
		} else {
			p.regexp, _ = attribute.Pattern(v) // a broken one is literal (SW708)
		}
	case map[string]any:
		p.members = make(map[string]pattern, len(v))
		for name, member := range v {
			p.members[name] = compilePattern(b, at.Key(name), member)
		}
	case []any:
		p.elements = make([]pattern, len(v))
		for i, element := range v {
			p.elements[i] = compilePattern(b, at.Index(i), element)
		}
	}
	return p
}

// literalText returns the only text that the pattern matches; empty if there may be others.
func (p pattern) literalText() string {
	if p.code != nil || p.regexp != nil {
		return ""
	}
	text, _ := p.literal.(string)
	return text
}

func (p pattern) matches(s *interpreter.Scope, v any) (bool, *errors.Error) {
	switch {
	case p.code != nil:
		return p.matchesExpression(s, v)
	case p.members != nil:
		return p.matchesMembers(s, v)
	case p.elements != nil:
		return p.matchesElements(s, v)
	}
	if expr.Equal(p.literal, v) {
		return true, nil
	}
	text, ok := v.(string)
	return ok && p.regexp != nil && p.regexp.MatchString(text), nil
}

// matchesExpression evaluates the expression. A boolean is the answer, and any other result has to equal the value.
func (p pattern) matchesExpression(s *interpreter.Scope, v any) (bool, *errors.Error) {
	yielded, err := s.Eval(p.code, v)
	if err != nil {
		return false, err
	}
	if holds, ok := yielded.(bool); ok {
		return holds, nil
	}
	return expr.Equal(yielded, v), nil
}

func (p pattern) matchesMembers(s *interpreter.Scope, v any) (bool, *errors.Error) {
	object, ok := v.(map[string]any)
	if !ok {
		return false, nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		member, present := object[name]
		if !present {
			return false, nil
		}
		if ok, err := p.members[name].matches(s, member); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (p pattern) matchesElements(s *interpreter.Scope, v any) (bool, *errors.Error) {
	list, ok := v.([]any)
	if !ok || len(list) != len(p.elements) {
		return false, nil
	}
	for i, element := range p.elements {
		if ok, err := element.matches(s, list[i]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
