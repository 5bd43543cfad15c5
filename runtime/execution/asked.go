package execution

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// Requests that documents can multiply: runs that start runs, and events that start their emitter. Each commit counts its requests.

// family returns the first of the runs that have started one another until this one.
func (x *Execution) family() store.Instance {
	if x.invocation.Family != nil {
		return *x.invocation.Family
	}
	return x.instance
}

// cause returns the run at the origin of this run: the first in the chain of runs that caused one another by starts and events.
func (x *Execution) cause() *store.Instance {
	if x.invocation.Cause != nil {
		return x.invocation.Cause
	}
	first := x.family()
	return &first
}

// asked returns the counted requests of the batch. A run that was caused by an event of another run counts its starts and its events for
// that run. Any other run counts its starts for its family.
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

// AskedByEvent returns the count of a start by a schedule because of an event. cause is the first run in the chain that caused the event.
// An event without such a run has no cause, and its starts do not count. Each schedule that takes the event starts its own run, which no
// commit counts.
func AskedByEvent(cause *store.Instance, set limits.Set) store.Asked {
	if cause == nil {
		return store.Asked{}
	}
	return store.Asked{Of: *cause, Kind: store.AskedByEvents, N: 1, Max: set.Max(limits.EventFamily)}
}

// AskedTooMuch returns the error of a commit or a start that exceeds the limit of requests. before is the number of earlier requests, and
// who is the requesting run or event.
func AskedTooMuch(a store.Asked, before int64, who string) *errors.Error {
	limit, what := limits.Family, "runs"
	if a.Kind == store.AskedByEvents {
		limit, what = limits.EventFamily, "runs and events, by its events,"
	}
	err := errors.Limitf("the run %s has led to %d %s within a day, and %s asks for %d more: at most %d are allowed (limit %s); "+
		"have the workflow start fewer, or raise the limit with --limit %s=NUMBER", a.Of, before, what, who, a.N, a.Max, limit, limit)
	return limits.Annotate(err, string(limit), int(before)+a.N, a.Max)
}

// endExcess ends the run if its last commit exceeded the limit of requests. The content of that commit is discarded.
func (x *Execution) endExcess() {
	if x.excess == nil || x.quarantined() {
		return
	}
	x.step(interpreter.Abort{Error: x.excess})
	x.again = false
}
