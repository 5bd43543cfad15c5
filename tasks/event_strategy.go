package tasks

import (
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// eventStrategy specifies the events to be consumed, and when they are enough (semantics 14.2).
type eventStrategy struct {
	mode       string // all, any or one
	filters    []*eventFilter
	until      *expr.Code     // nil without an expression
	untilEvent *eventStrategy // nil without a strategy
}

// strategyProgress contains the filters of a strategy that consumed an event: their positions, in the order of the events.
type strategyProgress struct {
	Filled []int `json:"filled,omitempty"`
}

func compileStrategy(b *interpreter.Builder, s *dsl.EventStrategy) *eventStrategy {
	if s == nil {
		return nil
	}
	compiled := &eventStrategy{mode: s.Mode, until: b.Condition(s.Until), untilEvent: compileStrategy(b, s.UntilEvent)}
	for _, f := range s.Filters() {
		compiled.filters = append(compiled.filters, compileEventFilter(b, f))
	}
	if len(compiled.filters) == 0 && s.Mode == "any" {
		compiled.filters = []*eventFilter{{pointer: s.Pointer.Key("any")}} // every event
	}
	return compiled
}

// all returns the strategy and the one inside its `until`.
func (e *eventStrategy) all() []*eventStrategy {
	if e.untilEvent == nil {
		return []*eventStrategy{e}
	}
	return []*eventStrategy{e, e.untilEvent}
}

// expect evaluates the expected values of correlations.
func (e *eventStrategy) expect(s *interpreter.Scope, known *correlations) *errors.Error {
	for _, f := range e.filters {
		if err := f.expect(s, known); err != nil {
			return err
		}
	}
	return nil
}

// satisfied reports whether the strategy needs no more events. The caller evaluates an expression in `until`.
func (e *eventStrategy) satisfied(p strategyProgress) bool {
	switch {
	case e.mode == "all":
		return len(p.Filled) == len(e.filters)
	case e.until != nil || e.untilEvent != nil:
		return false
	}
	return len(p.Filled) > 0
}

// movesFrom returns why the strategy cannot continue with the events that another one consumed; empty if it can. Both may be nil.
func (e *eventStrategy) movesFrom(was *eventStrategy, p strategyProgress) string {
	switch {
	case e == nil:
		return ""
	case len(p.Filled) > 0 && (e.mode != was.mode || e.mode == "all" && len(e.filters) != len(was.filters)):
		return "it has consumed events for a strategy that has other filters than the one there"
	case e.satisfied(p):
		return "it would listen for nothing more"
	}
	return ""
}

// had returns the filters that consumed an event; another version of the workflow may contain fewer filters.
func (e *eventStrategy) had(p strategyProgress) (all []*eventFilter) {
	for _, i := range p.Filled {
		if i < len(e.filters) {
			all = append(all, e.filters[i])
		}
	}
	return all
}

// consume reports whether the event passes a filter that waits for an event. If so, the event is consumed and binds the correlations of the filter.
func (e *eventStrategy) consume(s *interpreter.Scope, event map[string]any, p *strategyProgress, known *correlations) bool {
	for i, f := range e.filters {
		if e.mode == "all" && slices.Contains(p.Filled, i) || f.refuses(s, event, known) != nil {
			continue
		}
		f.bind(s, event, known)
		if e.mode == "all" || len(p.Filled) == 0 {
			p.Filled = append(p.Filled, i)
		}
		return true
	}
	return false
}

// open returns the filters that wait for an event.
func (e *eventStrategy) open(p strategyProgress) []*eventFilter {
	if e == nil {
		return nil
	}
	var all []*eventFilter
	for i, f := range e.filters {
		if e.mode != "all" || !slices.Contains(p.Filled, i) {
			all = append(all, f)
		}
	}
	return all
}
