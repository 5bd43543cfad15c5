package execution

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// The beginning of an execution: the program is loaded, and the state is restored.

// loading is the content of an execution before its program is loaded.
type loading struct {
	claimed *store.Claimed
	until   time.Time // when the run is given back if its program is not there by then
	failure error     // why it is given back
}

// load asks for the program of a claimed instance. As long as the store cannot be asked, it is asked again, but not for
// so long that the owner seems to hang.
func (x *Execution) load(claimed *store.Claimed) {
	until := x.Clock().Add(x.LoadWithin)
	if wake := claimed.Lifecycle.Wake; !wake.IsZero() && wake.Add(store.HangTolerance/2).Before(until) {
		until = wake.Add(store.HangTolerance / 2)
	}
	x.loading = loading{claimed: claimed, until: until}
	x.actions.Load, x.callAt = x.invocation.Definition, until
}

// Loaded reports the program that was asked for.
func (x *Execution) Loaded(p *interpreter.Program) error {
	if x.program != nil {
		x.migrationLoaded(p, nil)
		return nil
	}
	claimed := x.loading.claimed
	x.program, x.loading = p, loading{}
	x.pinned = pinned{x.invocation, p}
	x.actions.Load, x.callAt = "", time.Time{}
	x.messagesFirst = claimed.Token.Epoch == 1 && len(claimed.Inbox) > 0
	if err := x.restore(claimed); err != nil {
		return err
	}
	x.advance()
	return nil
}

// NotLoaded reports why a program could not be loaded. The run is not to blame if the store could not be asked, or if a newer swrun has stored the definition:
// the run is given back then, so that another worker takes it.
func (x *Execution) NotLoaded(err error) {
	if x.program != nil {
		x.migrationLoaded(nil, err)
		return
	}
	x.loading.failure = err
	if !errors.As(err, new(*definition.UnavailableError)) && store.RefusedAs(err) != store.Newer {
		x.fail(err)
		return
	}
	x.advance()
}

// giveBackUnloaded gives the run back if its program cannot be awaited any longer.
func (x *Execution) giveBackUnloaded() {
	now := x.Clock()
	if x.loading.failure == nil || now.Before(x.loading.until) && !x.leaving {
		return
	}
	c := x.stored.GiveBack(x.instance, x.token, now)
	x.actions.Load, x.actions.Commit = "", &c
}

// restore builds the execution's state from the stored state.
func (x *Execution) restore(c *store.Claimed) (err error) {
	x.stored, x.batch, x.queue, x.slots.deferred, x.lacking, x.held = c.Lifecycle, batch{}, nil, nil, nil, nil
	x.overtakes = false
	x.invocation, x.program, x.migration = x.pinned.invocation, x.pinned.program, migration{}
	x.children = map[interpreter.EffectID]child{}
	x.restoreActivities(c.Activities)
	if err := c.CheckHead(); err != nil {
		return Unreadable(x.instance, err)
	}
	if c.State.Head == nil {
		x.state = x.invocation.NewState(x.instance)
	} else if x.state, err = x.invocation.Restore(x.program, x.instance, c.State); err != nil {
		return err
	}
	if err := x.adoptBeside(); err != nil {
		return err
	}
	x.state.NumberFrom(int(c.Lifecycle.Records))
	x.state.LeaveDetached(x.leaveDetached)
	x.state.ReportWaits(x.StepWaits)
	if x.quarantined() {
		return nil
	}
	starts := x.state.Status == interpreter.StatusPending && x.starts()
	if starts && !x.messagesFirst {
		x.queue = append(x.queue, x.invocation.Start(x.program, x.stored))
	}
	if err := x.receive(c.Inbox); err != nil {
		return err
	}
	if starts && x.messagesFirst {
		x.startAfterMessages()
	}
	x.resume()
	x.again = x.state.Status == interpreter.StatusRunning // a step may have stopped in the middle of its work
	return nil
}

// startAfterMessages queues the start after the messages that arrived before it, and before messages that need a run that began.
func (x *Execution) startAfterMessages() {
	at := slices.IndexFunc(x.queue, countsFromItsTime)
	if at < 0 {
		at = len(x.queue)
	}
	x.queue = slices.Insert(x.queue, at, interpreter.Event(x.invocation.Start(x.program, x.stored)))
}

// starts reports whether the time of a delayed start passed or is irrelevant.
func (x *Execution) starts() bool {
	now := x.Clock()
	return !now.Before(x.stored.Started) || !x.stored.Deadline.IsZero() && !now.Before(x.stored.Deadline)
}

// receive queues messages that have not been stepped. One that cannot be read is an error, unless the run is terminated.
func (x *Execution) receive(messages []store.Message) error {
	for n := x.batch.read; n < len(messages); n++ {
		m, ev, err := inbox.Read(x.instance, x.stored.Read+int64(n)+1, messages[n])
		if err != nil {
			end, terminated := endDespite(messages[n:])
			if !terminated && !x.terminated {
				return err
			}
			x.terminated = true
			x.queue = append(x.queue, received{end, len(messages) - n})
			break
		}
		x.terminated = x.terminated || m.Terminated
		x.queue = append(x.queue, received{ev, 1})
	}
	if slices.ContainsFunc(x.queue, countsFromItsTime) {
		x.inTimeFirst()
	}
	return nil
}

// endDespite returns the end of a run that is terminated by one of the messages, although others of them cannot be read. The reason tells how many these are.
func endDespite(messages []store.Message) (end interpreter.Cancel, terminated bool) {
	lost := 0
	for _, data := range messages {
		m, err := inbox.Parse(data)
		if err == nil {
			_, err = m.Event()
		}
		switch {
		case err != nil:
			lost++
		case m.Terminated && !terminated:
			end, terminated = interpreter.Cancel{Reason: m.Reason, Actor: m.Actor}, true
		}
	}
	note := fmt.Sprintf("damaged messages of the inbox that are lost: %d", lost)
	if end.Reason != "" {
		note = " (" + note + ")"
		end.Reason = strings.ToValidUTF8(end.Reason[:min(len(end.Reason), limits.Set{}.Max(limits.Reason)-len(note))], "")
	}
	end.Reason += note
	return end, terminated
}

// inTimeFirst orders the ends of effects after all messages. One of the messages may have been accepted before a deadline that the ends may
// have missed. The step of any other message ends the scopes whose deadlines passed. Changes of deadlines are therefore ordered first,
// unless the run has not begun: it begins at its place among them.
func (x *Execution) inTimeFirst() {
	rank := func(ev interpreter.Event) int {
		switch {
		case isEnd(ev):
			return 2
		case isDeadline(ev) && x.state.Status != interpreter.StatusPending:
			return 0
		}
		return 1
	}
	x.overtakes = x.overtakes || x.state.Status != interpreter.StatusPending && slices.ContainsFunc(x.queue, isDeadline)
	slices.SortStableFunc(x.queue, func(a, b interpreter.Event) int { return rank(a) - rank(b) })
}

// isDeadline reports whether an event is a message that changes a deadline.
func isDeadline(ev interpreter.Event) bool {
	message, _ := ev.(received)
	_, is := message.Event.(interpreter.SetDeadline)
	return is
}

func isEnd(ev interpreter.Event) bool {
	switch ev.(type) {
	case interpreter.Finished, reported:
		return true
	}
	return false
}

// countsFromItsTime reports whether an event is a message that was accepted in time, even if the deadline that it concerns passed since.
func countsFromItsTime(ev interpreter.Event) bool {
	message, _ := ev.(received)
	switch message.Event.(type) {
	case interpreter.SetDeadline, interpreter.Arrived:
		return true
	}
	return false
}

// received is an event that came as a message: it is consumed when it is stepped, with those that follow and mean nothing after it.
type received struct {
	interpreter.Event
	messages int // how many are consumed
}

// resume prepares the effects that were in flight when an earlier owner lost the run.
func (x *Execution) resume() {
	goesOn := func(id interpreter.EffectID) bool { return x.inFlight[id] || x.hasEnded(id) || x.hasActivity(id) }
	for _, i := range interpreter.Interrupted(x.program, x.state, goesOn) {
		e := i.Effect
		switch {
		case e.Route == interpreter.RouteChild:
			x.adopt(e)
		case e.Route == interpreter.RouteDefinition: // the answer arrives automatically
		case e.Route == interpreter.RouteActivity && goesOn(e.ID): // automatically
		case i.Error != nil && !x.lacks(store.NewNeed(x.whole(e.Needs)...)):
			x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: i.Error})
		case e.Route == interpreter.RouteActivity: // its record is lost
			x.schedule(e)
		case goesOn(e.ID): // or ended
		case (i.Deferred || !e.AtMostOnce) && x.leaves(e):
		case i.Error != nil:
			x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: i.Error})
		case i.Deferred:
			x.slots.deferred = append(x.slots.deferred, e)
		case e.AtMostOnce:
			x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: errors.Communicationf(
				"it was sent at most once, and its arrival is unknown",
			).With("outcome", "unknown")})
		default:
			x.batch.resumed, x.batch.firm = true, true // the number of the attempt is stored before it is made
			x.batch.effects = append(x.batch.effects, e)
		}
	}
}

// hasEnded reports whether the end of an effect is known, and only not stored yet.
func (x *Execution) hasEnded(id interpreter.EffectID) bool {
	for _, ev := range x.ended {
		if ev.(interpreter.Finished).Effect == id {
			return true
		}
	}
	return false
}
