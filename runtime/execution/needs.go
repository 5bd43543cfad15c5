package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Needs: effects that the owner cannot perform are left to an owner that meets their needs. The run is given back with its needs when there
// is nothing else to do for it. Until its time comes, only workers that meet the needs take it.

// left is an effect that the owner does not perform: stored as not begun, for another owner.
type left struct {
	effect interpreter.Effect
	need   store.Need
	waits  bool // the owner meets the need, but may not begin the effect now
}

// whole returns the complete list of needs of an effect, including implicit ones.
func (x *Execution) whole(needs []string) []string {
	if r := x.invocation.Reserved; r != nil { // a worker that works on this run alone leaves nothing to others
		return []string{interpreter.NeedReserved(r.String())}
	}
	return needs
}

// leaves decides whether the owner leaves an effect to another owner or to a later time, and does so. A detached effect was left before its
// task began (leaveDetached), because it is forgotten when its step is stored.
func (x *Execution) leaves(e interpreter.Effect) bool {
	if e.Detached {
		return false
	}
	l := left{effect: e, need: store.NewNeed(x.whole(e.Needs)...)}
	switch {
	case x.lacks(l.need):
	case x.Begins != nil && !x.Begins(e.ID, e.Queue()):
		if l.waits = true; x.invocation.Reserved == nil {
			l.need = store.NewNeed(append(slices.Clone(e.Needs), interpreter.NeedQueue(e.Queue()))...)
		}
	default:
		return false
	}
	x.state.DeferEffect(e.ID)
	x.lacking = append(x.lacking, l)
	return true
}

// lacks reports whether the owner lacks something.
func (x *Execution) lacks(n store.Need) bool { return n != "" && x.Has != nil && !x.Has(n) }

// leaveDetached returns the needs of a detached effect that this owner does not meet.
func (x *Execution) leaveDetached(needs []string) []string {
	if needs = x.whole(needs); x.lacks(store.NewNeed(needs...)) {
		return needs
	}
	return nil
}

// needs returns the needs of the run that is given back.
func (x *Execution) needs() store.Needs {
	var all []store.Need
	for _, l := range x.lacking {
		all = append(all, l.need)
	}
	for _, needs := range x.held {
		all = append(all, store.NewNeed(needs...))
	}
	return store.NewNeeds(all)
}

// askAgain is how often an owner that has other things to do for a run asks whether something may begin now.
const askAgain = 250 * time.Millisecond

// beginLeft begins effects that could not begin before, and may now.
func (x *Execution) beginLeft() {
	if x.draining || len(x.lacking) == 0 {
		return
	}
	all := x.lacking
	x.lacking = nil
	for _, l := range all {
		if !l.waits || !x.Begins(l.effect.ID, l.effect.Queue()) {
			x.lacking = append(x.lacking, l)
			continue
		}
		x.state.BeginEffect(l.effect.ID)
		x.batch.firm = true
		x.perform(l.effect)
	}
}

// waitsHere reports whether the owner keeps the run until an effect may begin, since no other owner may perform it.
func (x *Execution) waitsHere() bool {
	return x.invocation.Reserved != nil && x.waitsToBegin() && !x.draining
}

// waitsToBegin reports whether an effect of the run may begin later in the hands of this owner.
func (x *Execution) waitsToBegin() bool {
	return slices.ContainsFunc(x.lacking, func(l left) bool { return l.waits })
}
