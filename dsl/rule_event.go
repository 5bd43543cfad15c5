package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// checkCorrelations: SW701, correlations without effect, and listeners of which some filters lack a correlation of the others.
func checkCorrelations(c *checker) {
	Walk(c.w, func(t Task) bool {
		if listen, ok := t.(*ListenTask); ok && listen.To != nil {
			c.correlations(listen.To)
		}
		return true
	})
	if s := c.w.Schedule; s != nil && s.On != nil {
		c.correlations(s.On)
	}
}

func (c *checker) correlations(s *EventStrategy) {
	filters := s.Filters()
	uses := map[string]int{}
	for _, f := range filters {
		for key := range f.Correlate {
			uses[key]++
		}
	}
	for _, key := range sortedKeys(uses) {
		holder := filters[slices.IndexFunc(filters, func(f *EventFilter) bool { return f.has(key) })]
		at := holder.Pointer.Key("correlate").Key(key)
		switch {
		case s.Mode == "all" && uses[key] < len(filters):
			i := slices.IndexFunc(filters, func(f *EventFilter) bool { return !f.has(key) })
			c.add(Diagnostic{Code: "SW701", Pointer: filters[i].Pointer, Range: c.w.Source.Value(filters[i].Pointer),
				Message: fmt.Sprintf("events of this filter are not correlated by `%s`, as those of the others are", key),
				Related: related(c.w.Source.Key(at), "another filter asks for it"), Help: fmt.Sprintf("add `correlate: {%s: {from: ...}}`", key)})
		case s.Mode == "one" && holder.Correlate[key].Expect.Text == "" && !c.misspelt(at):
			c.add(Diagnostic{Code: "SW701", Pointer: at, Range: c.w.Source.Key(at), Message: fmt.Sprintf("`%s` correlates with nothing: one event is consumed, and nothing is expected of it", key),
				Help: "say what the value must be: `expect: ${ .orderId }`"})
		}
	}
}

// misspelt reports whether a correlation has properties without a meaning, which Parse has reported.
func (c *checker) misspelt(at Pointer) bool {
	properties, _ := c.w.Source.Data(at).(map[string]any)
	return len(properties) > 1
}

// envelopeData matches the data of an event in the input of a workflow that events start.
var envelopeData = lazyregexp.New(`\.input\s*\[\s*\d*\s*\]\s*\.data\b`)

// checkScheduleEvents: SW702, properties and data that do not exist when events start a workflow (semantics 15.1 and 15.2).
func checkScheduleEvents(c *checker) {
	s := c.w.Schedule
	if s == nil || s.On == nil {
		return
	}
	if s.On.Until.Text != "" || s.On.UntilEvent != nil {
		at := s.On.Pointer.Key("until")
		c.add(Diagnostic{Code: "SW702", Pointer: at, Range: c.w.Source.Key(at), Message: "`until` has no meaning here: every match starts an instance of its own"})
	}
	if s.Read != "" && s.Read != "data" {
		return
	}
	for _, place := range c.texts {
		bare := strings.HasPrefix(string(place.at), "/input/from") && strings.Contains(place.text, "].data")
		if place.isExpression() && (bare || envelopeData().MatchString(place.text)) {
			c.add(Diagnostic{Code: "SW702", Pointer: place.at, Message: "the input is the events' data already, so that there is no `.data` in it",
				Help: "leave `.data` out, or add `read: envelope` to the schedule", Related: related(c.w.Source.Key("/schedule/on"), "the events")})
		}
	}
}
