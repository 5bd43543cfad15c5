package execution

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// What documents can multiply: runs that start runs, and events that start what emits them. Each commit counts what it asks for.

// family returns the first of the runs that have started one another until this one.
func (x *Execution) family() store.Instance {
	if x.invocation.Family != nil {
		return *x.invocation.Family
	}
	return x.instance
}

// cause returns the run that the events of this one come from: the first of those that have led to one another, by starts and by events.
func (x *Execution) cause() *store.Instance {
	if x.invocation.Cause != nil {
		return x.invocation.Cause
	}
	first := x.family()
	return &first
}

// asked returns what the batch asks for that counts. A run that an event of another run has led to counts its starts and its events for that run, and any
// other one counts its starts for its family.
func (x *Execution) asked() store.Asked {
	a := store.Asked{Of: x.family(), Kind: store.AskedRuns, Max: x.Limits.Max(limits.Family)}
	if x.invocation.Cause != nil {
		a = store.Asked{Of: *x.invocation.Cause, Kind: store.AskedByEvents, Max: x.Limits.Max(limits.EventFamily)}
	}
	for _, o := range x.batch.outbox {
		if o.Child != nil || o.Publish != nil && x.invocation.Cause != nil {
			a.N++
		}
	}
	if a.N == 0 {
		return store.Asked{}
	}
	return a
}

// AskedByEvent returns what the start of a run counts for that a schedule starts because of an event: cause is the first of the runs that have led to the event.
// An event that no run has led to has none, and its starts do not count. Each schedule that takes the event asks for a start of its own, which no commit knows of.
func AskedByEvent(cause *store.Instance, set limits.Set) store.Asked {
	if cause == nil {
		return store.Asked{}
	}
	return store.Asked{Of: *cause, Kind: store.AskedByEvents, N: 1, Max: set.Max(limits.EventFamily)}
}

// AskedTooMuch returns the error of a commit or a start that asks for more than may be asked for. Before is how much was asked for, and who is the run or the
// event that asks.
func AskedTooMuch(a store.Asked, before int64, who string) *errors.Error {
	limit, what := limits.Family, "runs"
	if a.Kind == store.AskedByEvents {
		limit, what = limits.EventFamily, "runs and events, by its events,"
	}
	err := errors.Limitf("the run %s has led to %d %s within a day, and %s asks for %d more: at most %d are allowed (limit %s); "+
		"have the workflow start fewer, or raise the limit with --limit %s=NUMBER", a.Of, before, what, who, a.N, a.Max, limit, limit)
	return limits.Annotate(err, string(limit), int(before)+a.N, a.Max)
}

// endExcess ends the run if its last commit has asked for too much. What that commit would have stored never happened.
func (x *Execution) endExcess() {
	if x.excess == nil || x.quarantined() {
		return
	}
	x.step(interpreter.Abort{Error: x.excess})
	x.again = false
}
