package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// After a step: the next actions of the driver.

// decide determines the next actions.
func (x *Execution) decide(now time.Time) {
	x.callAt = time.Time{}
	unstarted := len(x.batch.effects) + len(x.slots.deferred)
	idle := len(x.inFlight)+unstarted == 0 && !x.again && len(x.queue) == 0
	wake := x.wake()
	switch {
	case x.Idle && x.hasDetached():
		x.releaseLater(now)
	case x.state.Status.Final():
		x.commit(true)
	case x.draining && len(x.inFlight) == 0 && (x.leaving || !x.hasAtMostOnce()):
		x.commit(true)
	case len(x.batch.effects) > 0 && (x.batch.firm || x.slots.taken && x.stored.AwaitsSlot || x.batch.leaves() || x.draining), x.batch.full():
		x.commit(false)
	case x.again || len(x.queue) > 0:
		x.callAt = now
	case idle && !x.waitsHere() && (len(x.lacking)+len(x.held) > 0 || !x.soon(wake, now) && !x.lingers(now)):
		x.commit(true)
	case x.batch.firm || x.batch.leaves() || x.isBlameless() || idle && len(x.batch.history) > 0:
		x.commit(false)
	default:
		x.begin(false)
		x.wait(wake, now)
	}
}

// leaves reports whether the batch has something that others wait for.
func (b *batch) leaves() bool { return len(b.outbox)+len(b.scheduled) > 0 }

// hasAtMostOnce reports whether there is an effect that must start here: once it is stored, no other owner performs it.
func (x *Execution) hasAtMostOnce() bool {
	return slices.ContainsFunc(x.batch.effects, func(e interpreter.Effect) bool { return e.AtMostOnce })
}

// hasDetached reports whether there is a detached effect. It is forgotten once its step is stored, so it must start here.
func (x *Execution) hasDetached() bool {
	return slices.ContainsFunc(x.batch.effects, func(e interpreter.Effect) bool { return e.Detached })
}

// releaseLater gives the run back as it is stored, but not immediately: it would be taken again.
func (x *Execution) releaseLater(now time.Time) {
	if x.releaseAt.IsZero() {
		x.releaseAt = now.Add(store.HangTolerance / 2) // its owner must not seem to hang
	}
	if x.callAt = x.releaseAt; x.draining || !now.Before(x.releaseAt) {
		x.batch = batch{}
		c := x.stored.GiveBack(x.instance, x.token, now)
		c.Next += x.refused
		x.actions.Commit = &c
	}
}

// wait requests a call when the next wait ends, and when effects in flight must be stored as begun.
func (x *Execution) wait(wake, now time.Time) {
	x.callAt = wake
	if x.lingers(now) {
		x.callAt = interpreter.Earlier(wake, x.lingerUntil)
	}
	x.actions.Resting = x.slots.taken && (x.lingers(now) && len(x.inFlight) == 0 || x.onlyWaits())
	if x.waitsToBegin() {
		x.callAt = interpreter.Earlier(x.callAt, now.Add(askAgain))
	}
	if len(x.batch.history) > 0 || x.batch.resumed {
		checkpoint := x.batch.begun.Add(x.CheckpointAfter)
		if !now.Before(checkpoint) {
			x.commit(false)
		} else {
			x.callAt = interpreter.Earlier(x.callAt, checkpoint)
		}
	}
}

// soon reports whether a wait is so short that the run stays in memory.
func (x *Execution) soon(wake, now time.Time) bool {
	return !wake.IsZero() && wake.Sub(now) < x.ParkAfter && !x.draining
}

// wake returns the next time at which the run continues on its own, or a deadline passes.
func (x *Execution) wake() time.Time {
	if x.state.Status != interpreter.StatusPending {
		return x.state.NextWake()
	}
	return interpreter.Earlier(x.stored.Started, x.stored.Deadline)
}

// begin starts the effects of the batch that may be started. over reports that the execution ends.
func (x *Execution) begin(over bool) {
	for _, e := range x.batch.effects {
		switch {
		case e.Detached: // no later owner would know of it
			x.actions.Perform = append(x.actions.Perform, e)
		case !over && (x.leaving || x.draining && !e.AtMostOnce): // the next owner starts it; the next commit stores that
			x.state.DeferEffect(e.ID)
		case over || !x.state.Awaits(e.ID): // the next owner starts it, or no owner
		case x.slots.taken || e.Waits && x.mayWait():
			x.inFlight[e.ID] = true
			x.actions.Perform = append(x.actions.Perform, e)
		default:
			x.inFlight[e.ID] = true
			x.slots.waiting = append(x.slots.waiting, e)
		}
	}
	x.batch.effects = nil
	if x.batch.begun.IsZero() {
		x.batch.begun = x.Clock()
	}
}
