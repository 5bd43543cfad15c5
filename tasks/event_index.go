package tasks

import (
	"encoding/json"

	"github.com/swrun/swrun/interpreter"
)

// This file describes for the indexes of stores the events that a task can consume.

// indexed returns the index entries of the filters of a strategy that wait for an event.
func (e *eventStrategy) indexed(p strategyProgress, known correlations) (all []interpreter.EventFilter) {
	for _, f := range e.open(p) {
		all = append(all, f.indexed(known))
	}
	return all
}

func (f *eventFilter) indexed(known correlations) interpreter.EventFilter {
	filter := interpreter.EventFilter{Type: f.literalType()}
	var from []string
	var values []any
	for i := range f.correlate {
		if v, is := f.correlate[i].value(known); is {
			from, values = append(from, f.correlate[i].source), append(values, v)
		}
	}
	if from != nil {
		text, _ := json.Marshal(from) // texts can be written
		filter.From, filter.Key = string(text), interpreter.EventKey(values)
	}
	return filter
}

// awaited returns the filters of a strategy that wait for an event.
func (e *eventStrategy) awaited(p strategyProgress, known correlations) (all []interpreter.Awaited) {
	for _, f := range e.open(p) {
		a := interpreter.Awaited{Filter: f.pointer, Type: f.literalType(), Expected: map[string]any{}}
		for _, c := range f.correlate {
			if v, is := c.met(known); is {
				a.Expected[c.key] = v
			}
		}
		all = append(all, a)
	}
	return all
}
