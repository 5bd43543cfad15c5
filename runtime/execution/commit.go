package execution

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// Commits: their contents, and the handling of their answers.

// batch contains everything since the last commit.
type batch struct {
	at      time.Time // of the last step
	begun   time.Time // of the first
	results []interpreter.Event
	history []interpreter.HistoryStep
	encoded [][]byte             // history as it is stored
	apart   map[string][]byte    // parts of it that are stored separately
	events  int                  // in history
	bytes   int                  // of history and of requests
	effects []interpreter.Effect // to start when the batch is stored
	outbox  []Outgoing
	// scheduled are the activities to schedule, activities are the changes of others: their ends and dismissals.
	scheduled  []scheduled
	activities []store.ActivityChange
	reports    []*Report // that were stepped
	// invocation is the new invocation of a run that migrated; nil otherwise.
	invocation []byte
	guard      time.Time // the earliest deadline that was in force and not passed
	firm       bool      // it has to be stored before effects start
	resumed    bool      // effects were performed again
	read       int       // messages of the inbox that were stepped
	timeout    bool      // a scope was ended because its deadline has passed

	attempts int64         // the highest number of an attempt that a retry was scheduled for
	trouble  store.Trouble // the last error that ended the run or caused another attempt; zero for none
}

const (
	// maxRefused is how often a commit may be refused while the owner leaves, before the run is left to its lease.
	maxRefused = 5
	// maxConflicts is how often the last commit of a run may be refused because of new messages: a constant stream of messages must not
	// prevent the run from ending.
	maxConflicts = 5
	// maxUnanswered is after how many unanswered attempts, about a minute, the execution fails although its lease is renewed.
	// If the commit itself is the cause, the run ends in quarantine.
	maxUnanswered = 30
	// maxUnansweredLeaving replaces maxUnanswered while the owner leaves.
	maxUnansweredLeaving = 2
	// maxBatch and maxBatchBytes limit the events and the bytes that may wait for a commit while pure work continues.
	maxBatch      = 2000
	maxBatchBytes = 1 << 20
	// apartFrom is the size of data, in bytes, from which history keeps it apart.
	apartFrom = 64 << 10
)

// commit asks for a commit of the batch; release gives the token back with it.
func (x *Execution) commit(release bool) {
	c, err := x.commitOf(release)
	if err != nil {
		x.fail(fmt.Errorf("encode the changes: %w", err))
		return
	}
	x.actions.Commit, x.actions.History = c, x.batch.history
}

func (x *Execution) commitOf(release bool) (*store.Commit, error) {
	if release {
		for _, e := range x.batch.effects { // the next owner begins them
			x.state.DeferEffect(e.ID)
		}
	}
	changes, err := x.changes()
	if err != nil {
		return nil, err
	}
	at := x.batch.at
	if at.IsZero() {
		at = x.Clock()
	}
	c := &store.Commit{
		Instance: x.instance, Token: x.token, Version: x.stored.Version, Next: x.stored.Version + 1 + x.refused, At: at, Guard: x.batch.guard,
		Invocation: x.batch.invocation, Changes: changes, Entries: x.batch.encoded, Payloads: x.batch.apart, Records: x.batch.events, Read: x.batch.read,
		Status: x.state.Phase(), Wake: x.wake(), Deadline: x.state.NextDeadline(), Release: release,
	}
	c.Listens = store.NewListens(x.instance.Namespace, x.state.EventFilters())
	c.AwaitsSlot, c.TimesOut = x.awaitsSlot(), x.batch.timeout
	c.Last = x.state.Status.Final() && x.conflicts < maxConflicts
	if err := x.activityChanges(c); err != nil {
		return nil, err
	}
	c.Attempts, c.Awaits = x.batch.attempts, x.awaits()
	c.Retrying = max(x.stored.Attempts, c.Attempts) > 1 && x.state.Retrying()
	c.Waits, c.Trouble = x.state.Waits(), x.trouble(c.Retrying)
	if x.state.Status == interpreter.StatusPending {
		c.Deadline = x.stored.Deadline
	}
	if x.state.Status.Final() {
		c.Reason, c.Failure = x.reason(), x.failure()
		c.Wake, c.Deadline = time.Time{}, time.Time{}
	} else if release {
		c.Ready, c.Needs = x.draining && !x.parks(), x.needs()
	}
	c.Asked = x.asked()
	return c, x.encodeOutbox(c)
}

// parks reports whether nothing has to be done before time has passed or a message arrives.
func (x *Execution) parks() bool {
	unstarted := len(x.batch.effects) + len(x.slots.deferred)
	return x.state.Phase() == interpreter.StatusWaiting && len(x.queue) == 0 && unstarted == 0 && !x.again
}

// reason returns why the run is closed (promises.md 203).
func (x *Execution) reason() string {
	switch {
	case x.state.TimedOut:
		return store.ReasonTimedOut
	case x.state.Status == interpreter.StatusCancelled && x.terminated:
		return store.ReasonTerminated
	}
	return string(x.state.Status)
}

// failure returns the failure of the run for lists.
func (x *Execution) failure() store.Failure {
	if x.state.Fault == nil {
		return store.Failure{}
	}
	return store.NewFailure(x.state.Fault.Type, x.state.TimeoutKind())
}

// Committed handles the answer to the commit. After an error that is not a refusal it is unknown whether it has happened: it is sent
// again for a while.
func (x *Execution) Committed(c store.Committed, err error) {
	refusal := store.RefusedAs(err)
	if err != nil && refusal == "" {
		x.notAnswered(err)
		return
	}
	sent := x.actions.Commit
	x.actions.Commit, x.actions.History, x.unanswered = nil, nil, 0
	if err != nil {
		x.refuseReports()
	}
	switch {
	case err == nil:
		x.committed(sent, c.Mail)
	case x.program != nil && (refusal == store.TimedOut || refusal == store.TooEarly || refusal == store.Conflict || refusal == store.TooMany):
		if refusal == store.TooMany {
			x.excess = AskedTooMuch(sent.Asked, c.Asked, "this run")
		}
		x.actions.Reload = true // the events are stepped again from the state that is stored now
		x.refused++
		if refusal == store.Conflict {
			x.conflicts++
			x.dismissed = slices.DeleteFunc(slices.Clone(sent.Activities), func(c store.ActivityChange) bool { return c.From == nil || c.To != nil || c.Once != "" })
		}
		if x.leaving && x.refused > maxRefused {
			x.fail(err)
		}
	default:
		x.fail(err)
	}
}

// notAnswered counts how often a commit was not answered.
func (x *Execution) notAnswered(err error) {
	x.unanswered++
	if x.unanswered > maxUnanswered || x.leaving && x.unanswered > maxUnansweredLeaving {
		x.fail(errors.Join(ErrLeaseLost, err))
	}
}

// committed continues from the state that is stored now.
func (x *Execution) committed(sent *store.Commit, mail bool) {
	over := sent.Releases()
	x.begin(over)
	for _, r := range x.batch.reports {
		r.Answer(true)
	}
	x.batch = batch{at: x.batch.at}
	x.knowStored(sent)
	x.stored, x.refused, x.conflicts, x.surprises, x.excess = sent.After(x.stored), 0, 0, 0, nil
	if sent.Status != interpreter.StatusSuspended {
		x.parked = nil
	}
	x.pinned = pinned{x.invocation, x.program}
	x.cancelAll(func(id interpreter.EffectID) bool { return !x.state.Awaits(id) })
	if over {
		x.actions.Done, x.actions.Failed = true, x.loading.failure
		return
	}
	x.actions.Fetch = x.actions.Fetch || mail
	x.advance()
}

// Reloaded handles the run as it is stored, and repeats the steps of later events.
func (x *Execution) Reloaded(c *store.Claimed) error {
	x.ended = x.batch.results
	x.actions.Reload = false
	if err := x.repin(c); err != nil {
		return err
	}
	if x.conflicts > 0 && len(c.Inbox) > 0 { // the commit of a run that begins and ends in one step was refused because of them
		x.messagesFirst = true
	}
	if err := x.restore(c); err != nil {
		return err
	}
	x.queue = append(x.queue, x.ended...)
	x.ended = nil
	x.endExcess()
	x.advance()
	return nil
}

// repin takes the definition of the run from the store: a refused commit may have been stored by a delayed repetition, and may have changed
// the definition.
func (x *Execution) repin(c *store.Claimed) error {
	stored, err := ParseInvocation(c.Invocation)
	if err != nil {
		return err
	}
	switch p := (pinned{stored, x.pinned.program}); stored.Definition {
	case x.pinned.invocation.Definition:
		x.pinned = p
	case x.invocation.Definition:
		p.program = x.program
		x.pinned = p
	default:
		return fmt.Errorf("%w: the run continues with the definition %s, which is not loaded", ErrLeaseLost, stored.Definition)
	}
	return nil
}

// changes returns the changes of the state to be stored. A state that is too large ends the run, and is not stored itself.
func (x *Execution) changes() (interpreter.Changes, error) {
	changes, err := x.state.TakeChanges()
	if err != nil || x.state.Status.Final() {
		return changes, err
	}
	tooLarge := x.Limits.Check(limits.State, x.state.Size())
	if tooLarge == nil {
		return changes, nil
	}
	x.step(interpreter.Abort{Error: tooLarge})
	x.again = false
	end, err := x.state.TakeChanges() // no frame is left
	end.Context, end.Ended = changes.Context, append(changes.Ended, end.Ended...)
	return end, err
}

// encodeStep encodes a step of the history, and counts its size.
func (x *Execution) encodeStep(e interpreter.HistoryStep) error {
	b := &x.batch
	data, err := e.Encode(make([]byte, 0, 512), apartFrom, func(data []byte) string {
		if b.apart == nil {
			b.apart = map[string][]byte{}
		}
		ref := digest(data)
		if b.apart[ref] == nil {
			b.apart[ref] = data
			b.bytes += len(data)
			x.state.AddHistoryBytes(len(data))
		}
		return ref
	})
	if err != nil {
		return err
	}
	b.encoded = append(b.encoded, data)
	b.bytes += len(data)
	x.state.AddHistoryBytes(len(data))
	return nil
}

func (x *Execution) encodeOutbox(c *store.Commit) error {
	all := x.batch.outbox
	if told, ok := x.toldOfEnd(); ok && x.state.Status.Final() {
		all = append(all, told)
	}
	for _, o := range all {
		o.From = x.instance.Namespace
		data, err := o.Encode()
		if err != nil {
			return err
		}
		c.Outbox = append(c.Outbox, data)
	}
	return nil
}
