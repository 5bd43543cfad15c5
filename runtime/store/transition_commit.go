package store

import (
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Transition stores the results of the run's owner.
func (c *Commit) Transition(r *Lifecycle, _ time.Time) (*Change, Code) {
	if r == nil {
		return nil, NoSuch
	}
	mine := r.Epoch == c.Token.Epoch && r.Nonce == c.Token.Nonce
	switch {
	case mine && r.Version == c.Next:
		return &Change{From: r, To: *r, Done: true}, ""
	case r.Status.Final():
		return nil, Closed
	case !mine || !r.Held():
		return nil, Fenced
	case r.Version > c.Version:
		return nil, Conflict
	case r.Version < c.Version:
		return nil, RolledBack
	case c.resumes() && r.Parked != c.Parked: // others were parked, which the owner does not know of
		return nil, Conflict
	case (c.TimesOut && r.Reason != Quarantined || c.Last) && r.Mail > r.Read+int64(c.Read):
		return nil, Conflict
	}
	over := c.Releases()
	change := &Change{
		From: r, To: c.After(*r), NotBefore: millisecondOf(c.At), Before: c.before(r), WithMail: over || c.Read > 0 || c.TimesOut,
		Invocation: c.Invocation, State: c.Changes, Entries: c.Entries, Payloads: c.Payloads, Outbox: c.Outbox, Asked: c.Asked, Consumed: c.Read,
		Activities: c.Activities,
	}
	if change.WithMail && r.Mail > 0 && !(change.To.Held() && change.To.Unread()) {
		change.Notice = NoticeRemoved
	}
	return change, ""
}

// Releases reports whether the run has no owner after the commit.
func (c *Commit) Releases() bool { return c.Release || c.Status.Final() }

// resumes reports whether the run is neither suspended nor over after the commit: none of its activities may be parked then.
func (c *Commit) resumes() bool { return c.Status != interpreter.StatusSuspended && !c.Status.Final() }

// After returns the record after the commit. What happens then, happens at the time of the steps.
func (c *Commit) After(r Lifecycle) Lifecycle {
	if c.Status.Final() && r.neverStarts(c.At) {
		r.Started = time.Time{}
	}
	if len(c.Entries) > 0 && r.Version > 0 { // the first commit, which begins the run, does not count as progress
		r.Deaths = 0
	}
	if r.Listens = c.Listens; c.Status.Final() {
		r.Listens = ""
	}
	released := c.Reason == Quarantined && r.Reason != Quarantined // by a concurrent command
	r.Version = c.Next
	r.Records += int64(c.Records)
	r.Entries += int64(len(c.Entries))
	r.Read += int64(c.Read)
	if r.Status = c.Status; !released {
		r.Reason = c.Reason
	}
	r.Failure, r.Attempts, r.Retrying = c.Failure, max(r.Attempts, c.Attempts), c.Retrying && !c.Status.Final()
	r.Awaits, r.Waits, r.Trouble = c.Awaits, c.Waits, c.Trouble.after(r.Trouble)
	if c.Status != interpreter.StatusSuspended {
		r.Parked = 0
	}
	r.Wake, r.Deadline, r.AwaitsSlot = Moment(Millis(c.Wake)), Moment(Millis(c.Deadline)), c.AwaitsSlot && !c.Releases()
	switch {
	case r.Status.Final():
		r.Owner, r.Closed = "", millisecondOf(c.At)
	case c.Release:
		r.Owner = ""
		r.setNeeds(c.Needs, c.At)
		if c.Ready || released || r.Unread() && r.Reason != Quarantined {
			r.Ready, r.Begun = millisecondOf(c.At), true
		}
	}
	return r
}

// before returns the earliest deadline that the commit must come before; zero for none.
func (c *Commit) before(r *Lifecycle) time.Time {
	guard := Moment(Millis(c.Guard))
	if r.Deadline.After(c.At) {
		guard = interpreter.Earlier(guard, r.Deadline)
	}
	return guard
}

// neverStarts reports whether a run that ends at a time has not been started before, and is not.
func (r *Lifecycle) neverStarts(at time.Time) bool {
	return r.Expires(at) || r.Status == interpreter.StatusPending && r.Started.After(at)
}

// GiveBack returns the commit that lets go of a run as it is stored.
func (r *Lifecycle) GiveBack(i Instance, t Token, at time.Time) Commit {
	return Commit{
		Instance: i, Token: t, Version: r.Version, Next: r.Version + 1, At: at, Status: r.Status, Reason: r.Reason,
		Failure: r.Failure, Retrying: r.Retrying, Awaits: r.Awaits, Parked: r.Parked, Listens: r.Listens, Waits: r.Waits, Trouble: r.Trouble,
		Wake: r.Wake, Deadline: r.Deadline, Release: true, Ready: true,
	}
}
