package store

import (
	"cmp"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
)

// The transitions of a run: what each operation makes of its record, and what is written with it. They are pure, and every
// store uses them: it reads the record, asks for the Change, and writes it if the record is still what it was.

// Operation is what moves a run from one place to another.
type Operation interface {
	// Transition returns what the operation makes of a run at a time of the store's clock, or why it does not happen; r is
	// nil if there is no such run.
	Transition(r *Lifecycle, now time.Time) (*Change, Code)
}

// Change is what a transition makes of a run. A store writes all of it or nothing.
type Change struct {
	From *Lifecycle // nil for a run that is new
	To   Lifecycle  // with a Lease, if the owner's lease in the partition is to last so long
	Done bool       // the operation was done before: nothing is to be written

	NotBefore time.Time // the store's clock must have reached this: it is refused as TooEarly otherwise; zero for any time
	Before    time.Time // and must not have reached this: it is refused as TimedOut otherwise; zero for any time
	// WithMail says that the number of messages decides as well: there must be as many as From says.
	WithMail bool
	// WithRecord says that the record decides as well, also if nothing of it changes: it must be From.
	WithRecord bool
	// Refused is why the operation did not happen although something is written; empty if it did.
	Refused Code
	// Ended says that the lease of the owner in From has ended, and that it must still be so.
	Ended bool

	Invocation []byte // of a run that is new, or that goes on with another one; nil to leave it as it is
	State      interpreter.Changes
	Entries    [][]byte // of history
	Payloads   map[string][]byte
	// History and Messages are those of a run that is imported.
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

// Notice is what a change means for the notice that a run has messages which its owner does not know of.
type Notice int

// The notices.
const (
	NoticeKept    Notice = iota
	NoticeGiven          // to the worker that holds the run
	NoticeRemoved        // the owner knows, or there is none any more
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

// ChangesRetry reports whether the run comes among those that are retried, leaves them, or is taken or given back as one of them.
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

// Hints reports whether the change makes work for somebody at once.
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

// workerName is what a worker may be called: it stands in keys and patterns of stores.
var workerName = lazyregexp.New(`^[A-Za-z0-9]+$`)

// Check reports what is wrong with a claim.
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

// Transition makes the run ready if its time has come: it wants to be looked at, its owner's lease has ended, or its owner
// hangs or gives it up.
func (c *Promote) Transition(r *Lifecycle, now time.Time) (*Change, Code) {
	if r == nil {
		return nil, NoSuch
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

// due returns since when a run should be ready, zero if its time has not come, and whether its owner was lost.
func (c *Promote) due(r *Lifecycle, now time.Time) (at time.Time, died bool) {
	switch {
	case r.Status.Final(), !r.Ready.IsZero():
		return time.Time{}, false
	case c.Worker != "" && r.Owner == c.Worker:
		return now, c.Died
	case c.Worker != "":
		return time.Time{}, false
	case r.Held() && r.Lease.IsZero(): // its owner has no lease any more, and nobody knows since when
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

// Transition carries out what the store does of a command, and leaves the rest to the run's owner.
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

// noteContinuation notes which run goes on in the place of this one.
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

// wake makes a run ready, before all that is new, unless somebody holds it, who gets a notice, or it is quarantined:
// messages do not end that.
func (r *Lifecycle) wake(now time.Time) {
	if !r.Held() && (r.Ready.IsZero() || !r.Begun) && r.Reason != Quarantined {
		r.Ready, r.Begun = now, true
	}
}

// adoption takes a run from whoever holds it.
type adoption struct{}

// Adoption returns the operation that takes runs from whoever holds them, since what their partition says of owners cannot
// be relied on.
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

// LacksActivities reports whether the run waits for more activities than are stored beside it: nobody would ever wake it for those that are lost. One
// that somebody holds, or may claim, is looked at by its owner.
func (r *Lifecycle) LacksActivities(stored int) bool {
	return r.Awaits > int64(stored) && !r.Held() && r.Ready.IsZero() && !r.Unread() && !r.Status.Final() && r.Reason != Quarantined
}

// LostActivities says, for people, that a run lacks activities.
func LostActivities(i Instance, r *Lifecycle, stored int) string {
	return fmt.Sprintf("%s: %d of the %d activities that it waits for were lost", i, r.Awaits-int64(stored), r.Awaits)
}

// LostActivityRecheck is when a lost activity is looked at again whose run somebody holds.
const LostActivityRecheck = 10 * time.Second

// Removes reports whether Remove deletes a run.
func (c *Remove) Removes(r *Lifecycle, now time.Time) bool {
	return r.Status.Final() && now.Sub(r.Closed) >= c.Age
}

// Remembered is how long stores remember that operations were done.
const Remembered = 24 * time.Hour

// ReportRemembered is how long they remember that an activity was ended so. There may be thousands a second, and who reports repeats a
// report soon or never.
const ReportRemembered = 10 * time.Minute
