package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Slots: how effects wait for a slot, and how an execution ends because its owner has no slot, or stops.

// slots is the state of the slot that an execution needs to perform effects. An execution keeps its slot until it is over.
type slots struct {
	taken      bool
	waiting    []interpreter.Effect // stored as begun, or repeatable; performed as soon as there is a slot
	deferred   []interpreter.Effect // not to be performed twice: stored as not begun until there is a slot
	handOverAt time.Time            // when the run is handed over because there is no slot; zero for never
}

// A run waits for a slot before it is handed over to another owner, which may have one. The wait grows with the queue, so that
// at most twenty runs a second are handed over.
const (
	minSlotWait = 5 * time.Second
	perWaiting  = 50 * time.Millisecond
)

// SlotFree reports that the owner has taken a slot for this execution.
func (x *Execution) SlotFree() {
	x.slots.taken, x.slots.handOverAt = true, time.Time{}
	if x.stored.AwaitsSlot || x.actions.Commit != nil && x.actions.Commit.AwaitsSlot {
		x.advance()
		return
	}
	for _, e := range x.slots.waiting {
		if x.state.Awaits(e.ID) {
			x.actions.Perform = append(x.actions.Perform, e)
		} else {
			delete(x.inFlight, e.ID)
		}
	}
	x.slots.waiting = nil
	x.advance()
}

// SlotLeft reports that the owner has given the slot back while the run was resting.
func (x *Execution) SlotLeft() { x.slots.taken = false }

// mayWait reports whether the run may wait for messages without a slot, beside the runs with a slot.
func (x *Execution) mayWait() bool { return x.Waits != nil && x.Waits() }

// onlyWaits reports whether the run only waits for messages, and needs no slot for it.
func (x *Execution) onlyWaits() bool {
	for id := range x.inFlight {
		if !x.state.OnlyWaits(id) {
			return false
		}
	}
	return len(x.inFlight) > 0 && x.mayWait()
}

// beginWaiting lets effects begin that have waited for the slot. It has to be stored before that the owner does more than wait: from
// then on its loss counts.
func (x *Execution) beginWaiting() {
	if !x.slots.taken {
		return
	}
	for _, e := range x.slots.waiting {
		delete(x.inFlight, e.ID)
		if x.state.Awaits(e.ID) {
			x.batch.effects, x.batch.firm = append(x.batch.effects, e), true
		}
	}
	x.slots.waiting = nil
}

// awaitsSlot reports whether the owner has nothing to do for the run but to wait for a slot.
func (x *Execution) awaitsSlot() bool {
	return x.needsSlot() && !x.slots.handOverAt.IsZero() && len(x.inFlight) == len(x.slots.waiting) &&
		len(x.queue)+len(x.batch.effects) == 0 && !x.again
}

// isBlameless reports whether it has to be stored that the owner only waits: an earlier one was lost, and another loss would count.
func (x *Execution) isBlameless() bool {
	return x.stored.Deaths > 0 && !x.stored.AwaitsSlot && x.awaitsSlot()
}

// NoSlot reports that no slot is free, and how many executions of the owner wait for one. Timers continue to run.
func (x *Execution) NoSlot(waiting int) {
	if x.needsSlot() && x.slots.handOverAt.IsZero() {
		x.slots.handOverAt = x.Clock().Add(max(minSlotWait, time.Duration(waiting)*perWaiting))
		if x.isBlameless() {
			x.advance()
		}
	}
}

// needsSlot reports whether an effect waits for a slot.
func (x *Execution) needsSlot() bool {
	return !x.slots.taken && (len(x.slots.waiting) > 0 || len(x.slots.deferred) > 0 && !x.draining)
}

// checkSlot hands the run over if an effect has waited too long for a slot.
func (x *Execution) checkSlot() {
	switch {
	case !x.needsSlot():
		x.slots.handOverAt = time.Time{}
	case !x.slots.handOverAt.IsZero() && !x.Clock().Before(x.slots.handOverAt):
		x.slots.handOverAt, x.actions.Yield = time.Time{}, true
		x.handOver()
	}
}

// deferEffect stores an effect as not begun.
func (x *Execution) deferEffect(e interpreter.Effect) {
	x.state.DeferEffect(e.ID)
	x.slots.deferred = append(x.slots.deferred, e)
}

// beginDeferred lets the deferred effects begin, once that is stored.
func (x *Execution) beginDeferred() {
	if !x.slots.taken || x.draining || len(x.slots.deferred) == 0 {
		return
	}
	for _, e := range x.slots.deferred {
		x.state.BeginEffect(e.ID)
	}
	x.batch.effects = append(x.batch.effects, x.slots.deferred...)
	x.batch.firm, x.slots.deferred = true, nil
}

// Drain reports that the owner stops: the execution ends when nothing is in flight. Effects that did not begin are left to another owner,
// unless they are stored as begun and must not be repeated: then no other owner would begin them. Effects that only wait for messages
// continue at the next owner.
func (x *Execution) Drain() {
	x.draining = true
	x.withdraw(func(e interpreter.Effect) bool { return !e.AtMostOnce })
	x.cancelAll(func(id interpreter.EffectID) bool { return x.state.OnlyWaits(id) })
	x.advance()
}

// Leave reports that the owner is about to go: the run is handed over as it is.
func (x *Execution) Leave() {
	x.handOver()
	x.advance()
}

// handOver cancels effects in flight: another owner performs them again.
func (x *Execution) handOver() {
	x.draining, x.leaving = true, true
	x.withdraw(func(interpreter.Effect) bool { return true })
	x.cancelAll(always)
}

// withdraw leaves some effects that did not begin to another owner, and stores this.
func (x *Execution) withdraw(leave func(interpreter.Effect) bool) {
	withdrawn := func(e interpreter.Effect) bool {
		if e.Detached || !leave(e) {
			return false
		}
		delete(x.inFlight, e.ID)
		x.state.DeferEffect(e.ID)
		return true
	}
	x.slots.waiting = slices.DeleteFunc(x.slots.waiting, withdrawn)
	x.actions.Perform = slices.DeleteFunc(x.actions.Perform, withdrawn)
}

// cancel ends an effect in flight, whether or not it began.
func (x *Execution) cancel(id interpreter.EffectID) {
	is := func(e interpreter.Effect) bool { return e.ID == id }
	unbegun := slices.ContainsFunc(x.slots.waiting, is) || slices.ContainsFunc(x.actions.Perform, is)
	x.slots.waiting = slices.DeleteFunc(x.slots.waiting, is)
	x.actions.Perform = slices.DeleteFunc(x.actions.Perform, is)
	delete(x.inFlight, id)
	if !unbegun {
		x.actions.Cancel = append(x.actions.Cancel, id)
	}
}

// cancelAll ends those effects in flight that are over, in the order in which they were requested.
func (x *Execution) cancelAll(isOver func(interpreter.EffectID) bool) {
	var over []interpreter.EffectID
	for id := range x.inFlight {
		if isOver(id) {
			over = append(over, id)
		}
	}
	slices.Sort(over)
	for _, id := range over {
		x.cancel(id)
	}
}

// always reports true for every effect.
func always(interpreter.EffectID) bool { return true }
