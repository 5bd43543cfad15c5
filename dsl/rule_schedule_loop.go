package dsl

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
)

// checkScheduleLoops: SW705, runs that events start and that emit such events themselves, each time.
func checkScheduleLoops(c *checker) {
	s := c.w.Schedule
	if s == nil || s.On == nil {
		return
	}
	var emitted []*EmitTask
	c.eachCertain(c.w.Do, certainLists, func(t Task) {
		if emit, is := t.(*EmitTask); is {
			emitted = append(emitted, emit)
		}
	})
	filters := s.On.Filters()
	if len(filters) == 0 && s.On.Mode == "any" {
		filters = []*EventFilter{{Pointer: s.On.Pointer}}
	}
	taken := map[*EmitTask]*EventFilter{}
	for _, f := range filters { // each filter of `all` takes one event
		for _, t := range emitted {
			if taken[t] == nil && c.passes(f, t) {
				taken[t] = f
				break
			}
		}
	}
	if len(taken) == 0 || s.On.Mode == "all" && len(taken) < len(filters) {
		return
	}
	for _, t := range emitted {
		if f := taken[t]; f != nil {
			at := t.With.Pointer
			c.add(Diagnostic{Code: "SW705", Pointer: at, Range: c.w.Source.Key(at), Message: "every run emits this event, which starts the next one: that goes on without end",
				Related: related(c.w.Source.Value(f.Pointer), "the schedule takes it"),
				Help:    "give it another `type`, have the filter ask for data that it does not have, or emit it under an `if`"})
			return
		}
	}
}

// eachCertain calls visit for the tasks of a list that run each time, unless a task before them fails, as far as the document shows. Inner returns
// the lists of a task that are visited as well.
func (c *checker) eachCertain(tasks TaskList, inner func(Task) []TaskList, visit func(Task)) {
	for _, t := range tasks {
		if t.Base().If.Text != "" {
			continue
		}
		visit(t)
		for _, list := range inner(t) {
			c.eachCertain(list, inner, visit)
		}
		if c.mayLeave(t) || c.mayEnd(t) {
			return
		}
	}
}

// certainLists returns the lists of a task that run each time.
func certainLists(t Task) []TaskList {
	if try, is := t.(*TryTask); is {
		return []TaskList{try.Try}
	}
	if fork, is := t.(*ForkTask); is && fork.Compete || t.Traits().Group != "composite" {
		return nil
	}
	return Lists(t)
}

// passes reports whether a filter certainly accepts the event of a task.
func (c *checker) passes(f *EventFilter, t *EmitTask) bool {
	wanted, _ := f.With.Data.(map[string]any)
	given, _ := t.With.Data.(map[string]any)
	if len(f.Correlate) > 0 {
		return false
	}
	for name, want := range wanted {
		value, present := given[name]
		if d := c.w.Document; !present && name == "source" { // semantics 14.9
			value = fmt.Sprintf("/%s/%s/%s", d.Namespace, d.Name, d.Version)
		}
		if !isLiterally(want, value) {
			return false
		}
	}
	return true
}

// isLiterally reports whether a value is certainly the value that a filter requires.
func isLiterally(want, value any) bool {
	switch want := want.(type) {
	case string: // except a regular expression (semantics 14.6)
		return value == want && !delimited.Is(want) && regexp.QuoteMeta(want) == strings.ReplaceAll(want, ".", `\.`)
	case map[string]any:
		object, _ := value.(map[string]any)
		for name, w := range want {
			if v, present := object[name]; !present || !isLiterally(w, v) {
				return false
			}
		}
		return object != nil
	case []any:
		return false
	}
	return value == want
}
