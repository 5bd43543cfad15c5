package store

import (
	"cmp"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
)

// The transitions of a run: the change that each operation makes to its record, and the data written with it. They are pure functions used
// by every store: the store reads the record, asks for the Change, and writes it if the record is unchanged.

// Operation moves a run from one place to another.
type Operation interface {
	// Transition returns the change that the operation makes to a run at a time of the store's clock, or the code of its refusal. r is nil
	// if the run does not exist.
	Transition(r *Lifecycle, now time.Time) (*Change, Code)
}

// Change is the result of a transition. A store writes all of it or nothing.
type Change struct {
	From *Lifecycle // nil for a run that is new
	To   Lifecycle  // with a Lease, if the owner's lease in the partition is to last so long
	Done bool       // the operation was done before: nothing is to be written

	NotBefore time.Time // the store's clock must have reached this: it is refused as TooEarly otherwise; zero for any time
	Before    time.Time // and must not have reached this: it is refused as TimedOut otherwise; zero for any time
	// WithMail requires that the number of messages is the number in From.
	WithMail bool
	// WithRecord requires that the record is From, even if the record does not change.
	WithRecord bool
	// Refused is why the operation did not happen although something is written; empty if it did.
	Refused Code
	// Ended requires that the lease of the owner in From is still expired.
	Ended bool

	Invocation []byte // of a run that is new or continues another one; nil to leave it unchanged
	State      interpreter.Changes
	Entries    [][]byte // of history
	Payloads   map[string][]byte
	// History and Messages belong to an imported run.
	History    []StoredEntry
	Messages   []Message
	Outbox     [][]byte
	Asked      Asked
	Consumed   int     // messages that leave the inbox, the oldest first
	Message    Message // that comes into the inbox; nil for none
	ID         string  // of the operation, remembered for a day; empty for none
	Activities []ActivityChange
	Notice     Notice
}

// Notice is the effect of a change on the notice that a run has messages unknown to its owner.
type Notice int

// The notices.
const (
	NoticeKept    Notice = iota
	NoticeGiven          // to the worker that holds the run
	NoticeRemoved        // the owner knows the messages, or there are no more messages
)

// Check returns why a change cannot be made at a time of the store's clock; empty if it can.
func (c *Change) Check(now time.Time) Code {
	switch {
	case now.Before(c.NotBefore):
		return TooEarly
	case reached(c.Before, now): // equality is a timeout
		return TimedOut
	}
	return ""
}

// ChangesQuarantine reports whether the run comes into quarantine or out of it.
func (c *Change) ChangesQuarantine() bool {
	return (c.From != nil && c.From.Reason == Quarantined) != (c.To.Reason == Quarantined)
}

// ChangesRetry reports whether the run joins or leaves the retried runs, or is claimed or released as one of them.
func (c *Change) ChangesRetry() bool {
	before := NotRetried
	if c.From != nil {
		before = c.From.Retry()
	}
	return before != c.To.Retry()
}

// Retry is whether a task of a run is tried again.
type Retry int

const (
	NotRetried   Retry = iota
	RetryWaits         // for its time, or for a worker
	RetryInHands       // of a worker
)

// Retry returns whether a task of the run is tried again, and whether that waits.
func (r *Lifecycle) Retry() Retry {
	switch {
	case !r.Retrying || r.Status.Final():
		return NotRetried
	case r.Held():
		return RetryInHands
	}
	return RetryWaits
}

// Hints reports whether the change creates work that can start immediately.
func (c *Change) Hints() bool {
	return c.From == nil || c.Message != nil || len(c.Outbox) > 0 || !c.To.Ready.IsZero() && c.To.Ready != c.From.Ready ||
		c.From.Held() && len(c.To.Needed()) > 0
}

// Transition creates the run.
func (c *Start) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	if r != nil {
		return &Change{From: r, To: *r, Done: true}, ""
	}
	if c.Imported != nil {
		return c.Imported.change(c.Invocation, now), ""
	}
	to := Lifecycle{Status: interpreter.StatusPending, Created: now, Started: later(now, c.Delay), Deadline: Moment(Millis(c.Deadline))}
	if c.Timeout > 0 {
		to.Deadline = interpreter.Earlier(to.Deadline, later(now, c.Timeout))
	}
	if c.Delay <= 0 {
		to.Ready, to.Begun = now, c.Urgent
	} else {
		to.Wake = interpreter.Earlier(to.Started, to.Deadline)
	}
	return &Change{To: to, NotBefore: now, Invocation: c.Invocation, Asked: c.Asked}, ""
}

// later returns the time that is whole milliseconds after another.
func later(t time.Time, d time.Duration) time.Time { return t.Add(d.Truncate(time.Millisecond)) }

// workerName matches a valid name of a worker. The name is part of keys and patterns of stores.
var workerName = lazyregexp.New(`^[A-Za-z0-9]+$`)

// Check returns an error if a claim is not valid.
func (c *Claim) Check() error {
	if !workerName().MatchString(c.Worker) {
		return fmt.Errorf("%q is not the name of a worker: it must be letters and digits", c.Worker)
	}
	return nil
}

// Transition gives the run to the worker that claims it.
func (c *Claim) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	switch {
	case r == nil:
		return nil, NoSuch
	case r.Held() && r.Nonce == c.Nonce:
		return &Change{From: r, To: *r, Done: true}, ""
	case r.Status.Final(), r.Held(), r.Ready.IsZero() && !r.waitsFor(c.Has):
		return nil, Conflict
	}
	to := *r
	to.setNeeds("", now)
	to.Epoch++
	to.Nonce, to.Owner, to.Lease, to.Ready, to.Begun = c.Nonce, c.Worker, later(now, c.Lease), time.Time{}, false
	if r.Status == interpreter.StatusPending && !now.Before(r.Started) && !reached(r.Deadline, now) {
		to.Status, to.Started, to.Wake = interpreter.StatusRunning, now, time.Time{}
	}
	if reached(to.Wake, now) { // the new owner does not count as hanging yet, however overdue the run is
		to.Wake = now
	}
	change := &Change{From: r, To: to, NotBefore: now, WithMail: true}
	if r.Mail > 0 {
		change.Notice = NoticeRemoved // the claim returns them
	}
	return change, ""
}

// Transition makes the run ready if it is due: its wake-up time passed, its owner's lease expired, or its owner hangs or gives it up.
func (c *Promote) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	switch {
	case r == nil:
		return nil, NoSuch
	case c.Busy:
		return c.prolong(r, now)
	}
	at, died := c.due(r, now)
	if at.IsZero() {
		return nil, Conflict
	}
	change := &Change{From: r, To: *r, NotBefore: now, Ended: r.Held() && c.Worker == "" && !reached(r.hangs(), now)}
	to := &change.To
	to.Owner, to.AwaitsSlot = "", false
	most := cmp.Or(c.MaxDeaths, DefaultMaxDeaths)
	if died {
		to.Deaths++
		change.note(now, lost(r, to.Deaths, most)...)
		if to.Deaths >= most {
			to.Reason = Quarantined
		}
	}
	if to.Deaths < 2*most {
		to.Ready, to.Begun = at, true
	} else {
		to.Wake = time.Time{}
	}
	return change, ""
}

// prolong gives the owner of a run more time for the wake-up that passed.
func (c *Promote) prolong(r *Lifecycle, now time.Time) (*Change, Code) {
	if r.Owner != c.Worker || !r.Held() || !reached(r.Wake, now) {
		return nil, Conflict
	}
	change := &Change{From: r, To: *r, NotBefore: now}
	change.To.Wake = now
	return change, ""
}

// due returns since when a run should be ready, or zero if it is not due. died reports whether its owner was lost.
func (c *Promote) due(r *Lifecycle, now time.Time) (at time.Time, died bool) {
	switch {
	case r.Status.Final(), !r.Ready.IsZero():
		return time.Time{}, false
	case c.Worker != "" && r.Owner == c.Worker:
		return now, c.Died
	case c.Worker != "":
		return time.Time{}, false
	case r.Held() && r.Lease.IsZero(): // its owner holds no lease, and the time of the loss is unknown
		return now, !r.AwaitsSlot
	}
	if at = r.Due(); !reached(at, now) {
		return time.Time{}, false
	}
	return at, r.Held() && !r.AwaitsSlot
}

// Transition puts the message into the inbox of the run.
func (d *Delivery) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	switch {
	case r == nil:
		return nil, NoSuch
	case r.Status.Final() && d.Late != nil && now.Sub(r.Closed) < Remembered:
		change := &Change{From: r, To: *r, ID: d.ID}
		change.note(now, d.Late.HistoryEvent())
		return change, ""
	case r.Status.Final():
		return nil, Closed
	case d.Most > 0 && r.Mail-r.Read >= int64(d.Most):
		return nil, Limit
	}
	change, message := &Change{From: r, To: *r, ID: d.ID}, d.Message
	if d.MessageAt != nil {
		message, change.Before = d.MessageAt(now), now.Add(StampTolerance)
	}
	change.receive(message)
	change.To.wake(now)
	return change, ""
}

// receive puts a message into the inbox.
func (c *Change) receive(m Message) {
	c.To.Mail++
	if c.Message = m; m == nil {
		c.Message = Message{}
	}
	if c.To.Held() {
		c.Notice = NoticeGiven
	}
}

// Transition carries out the store's part of a command and leaves the rest to the run's owner.
func (c *Command) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	switch {
	case r == nil:
		return nil, NoSuch
	case c.Verb == VerbContinue:
		return c.noteContinuation(r)
	case r.Status.Final():
		return nil, Closed
	case c.Verb == VerbRetry && r.Reason != Quarantined, (c.Verb == VerbDeadline || c.Verb == VerbRetryNow) && r.Reason == Quarantined:
		return nil, Conflict
	}
	change := &Change{From: r, To: *r, ID: c.ID, Before: Moment(Millis(c.Before))}
	if c.Verb != VerbSuspend && c.Verb != VerbResume && r.Reason == Quarantined {
		change.To.Reason, change.To.Deaths = "", 0
	}
	change.receive(c.Message)
	change.To.wake(now)
	return change, ""
}

// noteContinuation records the run that continues in the place of this run.
func (c *Command) noteContinuation(r *Lifecycle) (*Change, Code) {
	change := &Change{From: r, To: *r, ID: c.ID}
	switch r.Continuation {
	case c.Continuation:
		return change, ""
	case c.After:
		change.To.Continuation = c.Continuation
		return change, ""
	}
	return nil, Conflict
}

// wake makes a run ready with priority over new runs. If the run has an owner, the owner gets a notice instead. A quarantined run stays in
// quarantine: messages do not end it.
func (r *Lifecycle) wake(now time.Time) {
	if !r.Held() && (r.Ready.IsZero() || !r.Begun) && r.Reason != Quarantined {
		r.Ready, r.Begun = now, true
	}
}

// adoption takes a run from its owner.
type adoption struct{}

// Adoption returns the operation that takes runs from their owners because the ownership data of their partition is not reliable.
func Adoption() Operation { return adoption{} }

func (adoption) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	if r == nil {
		return nil, NoSuch
	}
	change := &Change{From: r, To: *r}
	if r.Held() {
		to := &change.To
		to.Owner, to.AwaitsSlot = "", false
		if to.wake(now); to.Reason == Quarantined { // it has to be looked at again
			to.Ready, to.Begun = now, true
		}
	}
	return change, ""
}

// lostActivity has a run looked at of which an activity is lost.
type lostActivity struct{}

// LostActivity returns the operation that makes a run ready whose activity is listed and not there any more: its next owner
// schedules it again.
func LostActivity() Operation { return lostActivity{} }

func (lostActivity) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	switch {
	case r == nil:
		return nil, NoSuch
	case r.Status.Final():
		return nil, Closed
	case r.Held(): // its owner knows the activity still
		return nil, Conflict
	}
	change := &Change{From: r, To: *r}
	change.To.wake(now)
	return change, ""
}

// LacksActivities reports whether the run waits for more activities than are stored beside it. Lost activities would never wake it. A run
// that is held or may be claimed is excluded, since its owner checks it.
func (r *Lifecycle) LacksActivities(stored int) bool {
	return r.Awaits > int64(stored) && !r.Held() && r.Ready.IsZero() && !r.Unread() && !r.Status.Final() && r.Reason != Quarantined
}

// LostActivities describes, for people, that a run lacks activities.
func LostActivities(i Instance, r *Lifecycle, stored int) string {
	return fmt.Sprintf("%s: %d of the %d activities that it waits for were lost", i, r.Awaits-int64(stored), r.Awaits)
}

// LostActivityRecheck is the delay before a lost activity of a held run is checked again.
const LostActivityRecheck = 10 * time.Second

// Removes reports whether Remove deletes a run.
func (c *Remove) Removes(r *Lifecycle, now time.Time) bool {
	return r.Status.Final() && now.Sub(r.Closed) >= c.Age
}

// Remembered is how long stores remember that operations were done.
const Remembered = 24 * time.Hour

// ReportRemembered is how long stores remember that a report ended an activity. There may be thousands of reports a second, and a worker
// repeats a report soon or never.
const ReportRemembered = 10 * time.Minute
