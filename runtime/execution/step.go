package execution

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// Steps: the stepped events, and the requests of the steps.

// advance steps the queued events and determines the next actions. It does nothing while a commit is in progress.
func (x *Execution) advance() {
	switch {
	case x.actions.Commit != nil || x.actions.Reload || x.actions.Done:
		return
	case x.program == nil:
		x.giveBackUnloaded()
		return
	case x.quarantined():
		x.confine()
		return
	}
	x.checkSlot()
	for len(x.queue) > 0 && (!x.batch.full() || x.leavesGap()) {
		ev := x.queue[0]
		if !x.mayStep(ev) {
			return
		}
		x.queue = x.queue[1:]
		x.step(ev)
	}
	now := x.Clock()
	if x.state.Status == interpreter.StatusPending && x.starts() { // a message came shortly before
		x.step(x.invocation.Start(x.program, x.stored))
	}
	wake := x.state.NextWake()
	passed := !wake.IsZero() && !now.Before(wake)
	if passed && x.Late != nil {
		x.Late(now.Sub(wake))
	}
	if x.again || passed {
		x.step(interpreter.Due{})
	}
	x.limit()
	x.beginWaiting()
	x.beginDeferred()
	x.beginLeft()
	x.decide(now)
}

// leavesGap reports whether a commit now could take a message from the inbox that was not stepped: the first ones go, and a change of a deadline has been
// stepped before one of them.
func (x *Execution) leavesGap() bool {
	isMessage := func(ev interpreter.Event) bool { _, is := ev.(received); return is }
	x.overtakes = x.overtakes && slices.ContainsFunc(x.queue, isMessage)
	return x.overtakes
}

// limit lets a run continue as a new run before its history becomes too long. A run that does not reach a resting position until then ends:
// most likely it is in an endless loop.
func (x *Execution) limit() {
	if x.state.Status.Final() {
		return
	}
	err := x.Limits.Check(limits.History, x.state.HistoryEvents())
	if err == nil {
		err = x.Limits.Check(limits.HistoryBytes, x.state.HistoryBytes())
	}
	if err == nil && !x.again && x.isLong() {
		x.step(interpreter.RollOver{})
	}
	if err != nil {
		x.step(interpreter.Abort{Error: err})
		x.again = false
	}
}

// rollOverAt is the part of a limit at which a run in a resting position continues as a new run. The rest is reserved for its work until
// the next resting position.
const rollOverAt = 0.8

// isLong reports whether the history of the run is close to a limit. The history of the next run begins with the complete state, which must
// leave room for more.
func (x *Execution) isLong() bool {
	closeTo := func(n limits.Name, is int) bool { return float64(is) >= rollOverAt*float64(x.Limits.Max(n)) }
	return x.state.Status == interpreter.StatusRunning && x.state.Size() < x.Limits.Max(limits.HistoryBytes)/2 &&
		(closeTo(limits.History, x.state.HistoryEvents()) || closeTo(limits.HistoryBytes, x.state.HistoryBytes()))
}

// full reports whether the batch has to be committed before more work.
func (b *batch) full() bool { return b.events >= maxBatch || b.bytes >= maxBatchBytes }

func (x *Execution) step(ev interpreter.Event) {
	now := x.Clock()
	at := now
	switch e := ev.(type) {
	case interpreter.Start:
		at = x.startTime(now)
		ev = x.begins(e, at)
		// Store first: the store has not fixed the time yet, or the run kills its workers and the next must know its deadlines.
		x.batch.firm = x.batch.firm || x.stored.Status == interpreter.StatusPending || x.stored.Deaths > 0
	case received:
		ev = x.lateCancel(x.prepared(e.Event), now)
		x.batch.read += e.messages
		x.batch.firm = true
	case reported:
		ev = x.stepReported(e)
	case interpreter.Finished:
		x.batch.results = append(x.batch.results, ev)
	}
	if at.Before(x.batch.at) {
		at = x.batch.at
	}
	if x.batch.begun.IsZero() {
		x.batch.begun = now
	}
	if d := x.state.NextDeadline(); at.Before(d) {
		x.batch.guard = interpreter.Earlier(x.batch.guard, d)
	}
	before := x.childrenBefore(ev)
	result := interpreter.Step(x.program, x.state, ev, at)
	x.tellAttempts(result.History)
	x.batch.at, x.again, x.held = at, result.Again, result.Lacks
	x.note(ev, at, result)
	x.migrate(ev, result)
	if result.DeadlinesMoved {
		x.moveDeadlines(before)
	}
	x.handle(result)
}

// begins completes the event with which the run begins at a time.
func (x *Execution) begins(ev interpreter.Start, at time.Time) interpreter.Start {
	if x.stored.Expires(at) {
		ev.StartedAt = time.Time{}
	}
	ev.LostOwners = int(x.stored.Deaths)
	return ev
}

// handle carries out the requests of a step.
func (x *Execution) handle(result interpreter.Result) {
	for _, id := range result.Cancels {
		x.abandon(id)
	}
	for _, e := range result.Effects {
		x.request(e)
	}
}

// lateCancel adds the soft deadline that has passed at a time to the cancellation of a pending run.
func (x *Execution) lateCancel(ev interpreter.Event, now time.Time) interpreter.Event {
	cancel, is := ev.(interpreter.Cancel)
	if !is || x.state.Status != interpreter.StatusPending || !x.invocation.TimeoutsFromAccept {
		return ev
	}
	for _, soft := range interpreter.SoftDeadlines(x.program, x.unbegun()) {
		if !now.Before(soft.At) {
			cancel.LateAt = soft.At
		}
	}
	return cancel
}

// startTime is the time of the step that starts the run: when its first owner took it. It is now if the run is
// cancelled before its time, or is quarantined.
func (x *Execution) startTime(now time.Time) time.Time {
	if x.quarantined() {
		return now
	}
	if at := x.stored.Started; x.stored.Status != interpreter.StatusPending && !now.Before(at) {
		return at
	}
	return now
}

// note adds the result of a step to the commit.
func (x *Execution) note(ev interpreter.Event, at time.Time, result interpreter.Result) {
	if len(result.History) == 0 {
		return
	}
	if _, first := ev.(interpreter.Start); !first {
		x.batch.firm = true
	}
	step := interpreter.NewHistoryStep(ev, at, result)
	if result.Withheld {
		state, err := x.state.Snapshot()
		if err != nil {
			x.fail(err)
			return
		}
		step.State = &state
	}
	if err := x.encodeStep(step); err != nil {
		x.fail(fmt.Errorf("encode the step: %w", err))
		return
	}
	x.batch.timeout = x.batch.timeout || slices.ContainsFunc(result.History, func(e interpreter.HistoryEvent) bool { return e.TimedOut() })
	x.batch.history = append(x.batch.history, step)
	x.batch.events += len(result.History)
	x.noteTrouble(result.History)
	for _, e := range result.History {
		switch {
		case e.Type == interpreter.RetryScheduled:
			x.batch.attempts = max(x.batch.attempts, int64(e.Attempt))
		case e.Type == interpreter.EffectRetried && e.Error != nil: // of an activity; the next attempt is meant
			x.batch.attempts = max(x.batch.attempts, int64(e.Attempt)+1)
		}
	}
}

// request handles an effect that a step asks for.
func (x *Execution) request(e interpreter.Effect) {
	x.batch.bytes += len(e.Request.Body)
	switch {
	case x.inFlight[e.ID]: // a step that is repeated asks for it again
	case e.Route == interpreter.RoutePublish:
		x.batch.outbox = append(x.batch.outbox, Outgoing{Publish: e.Request.Body, Cause: x.cause()})
	case e.Route == interpreter.RouteChild:
		x.startChild(e)
	case e.Route == interpreter.RouteActivity:
		x.schedule(e)
	case e.Route == interpreter.RouteDefinition:
		x.findDefinition(e)
	case x.leaves(e):
	default:
		x.perform(e)
	}
}

// perform has the owner perform an effect.
func (x *Execution) perform(e interpreter.Effect) {
	if e.AtMostOnce && !e.Detached && (!x.slots.taken || x.draining) {
		x.deferEffect(e)
		return
	}
	x.batch.firm = x.batch.firm || e.AtMostOnce || e.Detached
	x.batch.effects = append(x.batch.effects, e)
}

// abandon reports that the run no longer waits for an effect. An effect in flight here is cancelled when that is stored.
func (x *Execution) abandon(id interpreter.EffectID) {
	if c, ok := x.children[id]; ok {
		delete(x.children, id)
		x.batch.outbox = append(x.batch.outbox, c.closing(x.terminated, x.state.ClosingReason())...)
	}
	x.dismiss(id)
	is := func(e interpreter.Effect) bool { return e.ID == id }
	x.batch.effects = slices.DeleteFunc(x.batch.effects, is)
	x.slots.deferred = slices.DeleteFunc(x.slots.deferred, is)
	x.lacking = slices.DeleteFunc(x.lacking, func(l left) bool { return l.effect.ID == id })
}
