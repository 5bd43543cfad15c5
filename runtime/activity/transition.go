package activity

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// The operations on activities. A store asks an operation for the transition of an activity, and stores it.

// Operation is an operation on an activity: Take, Resume, Return, Heartbeat, Complete, Fail, RetryNow or Expire.
type Operation interface {
	store.ActivityOperation
	// apply carries it out, and may change the activity. An empty code means success.
	apply(store.ActivityID, *Activity, time.Time) (outcome, store.Code)
}

// Take gives an activity to a worker that has asked for one.
type Take struct {
	Worker string // name of the worker, for people
	Nonce  string // random; the part of the token that makes it this attempt's
}

// Once implements store.ActivityOperation: the nonce identifies the operation.
func (Take) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation. An activity of a suspended run is not handed out: it leaves its queue until the run is
// resumed.
func (t Take) Transition(id store.ActivityID, run *store.Lifecycle, r *store.Activity, now time.Time) (o *store.ActivityOutcome, code store.Code) {
	if run.Status == interpreter.StatusSuspended {
		o, code = transition(park{t}, id, r, now)
	} else {
		o, code = transition(t, id, r, now)
	}
	if code == "" && o.To != r {
		o.WithRecord, o.Parks = true, run.Status == interpreter.StatusSuspended
	}
	return o, code
}

func (t Take) apply(_ store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	switch {
	case a.Taken() && a.Nonce == t.Nonce:
		return outcome{same: true}, ""
	case a.Taken():
		return outcome{}, store.Conflict
	case a.IsParked():
		return outcome{}, store.Suspended
	case now.Before(a.Available):
		return outcome{}, store.TooEarly
	case a.passed(now):
		return outcome{}, store.TimedOut
	}
	before := a.first()
	a.Available, a.Nonce, a.Worker, a.StartedAt, a.HeartbeatAt = time.Time{}, t.Nonce, t.Worker, now, time.Time{}
	return outcome{to: a, before: before}, ""
}

// park takes an activity that could be taken out of its queue, because its run is suspended.
type park struct{ Take }

func (p park) apply(id store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	taken := *a
	if o, code := p.Take.apply(id, &taken, now); code != "" || o.same {
		return o, code
	}
	a.Available, a.Parked = time.Time{}, a.Available
	return outcome{to: a, before: a.first()}, ""
}

// Resume puts an activity back into its queue, where it was when its run was found suspended.
type Resume struct{}

// Once implements store.ActivityOperation: a queued activity is not parked.
func (Resume) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (r Resume) Transition(id store.ActivityID, _ *store.Lifecycle, a *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(r, id, a, now)
}

func (Resume) apply(_ store.ActivityID, a *Activity, _ time.Time) (outcome, store.Code) {
	if !a.IsParked() {
		return outcome{}, store.Conflict
	}
	a.Available, a.Parked = a.Parked, time.Time{}
	return outcome{to: a}, ""
}

// Return gives an activity back that its worker does not perform. The same attempt waits for another worker, with a new time to start.
type Return struct {
	Nonce string
}

// Once implements store.ActivityOperation: a returned activity has no worker.
func (Return) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (t Return) Transition(id store.ActivityID, _ *store.Lifecycle, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(t, id, r, now)
}

func (t Return) apply(_ store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	if code := a.refuses(t.Nonce, now); code != "" {
		return outcome{}, code
	}
	before := a.first()
	a.Available, a.Nonce, a.StartedAt, a.HeartbeatAt = now, "", time.Time{}, time.Time{}
	return outcome{to: a, before: before}, ""
}

// Heartbeat reports that the worker is alive, with its progress.
type Heartbeat struct {
	Nonce    string
	Progress *interpreter.Value // nil keeps the former progress
}

// Once implements store.ActivityOperation: it may happen again.
func (Heartbeat) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (h Heartbeat) Transition(id store.ActivityID, _ *store.Lifecycle, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(h, id, r, now)
}

func (h Heartbeat) apply(_ store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	if code := a.refuses(h.Nonce, now); code != "" {
		return outcome{}, code
	}
	before := a.first()
	a.HeartbeatAt = now
	if h.Progress != nil {
		a.Progress = h.Progress
	}
	return outcome{to: a, before: before}, ""
}

// RetryNow ends the delay before the next attempt of an activity: a worker may take it immediately. Its time to start counts from then.
type RetryNow struct{}

// Once implements store.ActivityOperation: doing it again changes nothing.
func (RetryNow) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (h RetryNow) Transition(id store.ActivityID, _ *store.Lifecycle, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(h, id, r, now)
}

func (RetryNow) apply(_ store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	switch {
	case !a.Delayed(now):
		return outcome{}, store.Conflict
	case a.passed(now):
		return outcome{}, store.TimedOut
	}
	before := a.first()
	a.Available = now
	return outcome{to: a, before: before}, ""
}

// Expire ends the attempt, or the whole activity, whose deadline has passed.
type Expire struct{}

// Once implements store.ActivityOperation: it happens only while it is due.
func (Expire) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (e Expire) Transition(id store.ActivityID, _ *store.Lifecycle, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(e, id, r, now)
}

func (Expire) apply(id store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	passed, ok := a.outermost(now)
	if !ok {
		return outcome{}, store.TooEarly
	}
	return a.expire(id, passed, now), ""
}

// outermost returns the outermost of the passed deadlines. If several passed in the meantime, the deadline of all attempts takes precedence
// over the deadline of one attempt, and that over its heartbeat timeout, so that no attempt begins after its time.
func (a *Activity) outermost(now time.Time) (passed Deadline, ok bool) {
	for _, d := range a.Deadlines() {
		if !now.Before(d.At) {
			return d, true
		}
	}
	return Deadline{}, false
}

// outcome is the result of an operation on an activity.
type outcome struct {
	same   bool           // it is unchanged
	to     *Activity      // nil if it ended
	told   *inbox.Message // to its run; nil for nothing
	before time.Time      // time before which the outcome must be stored; zero for any time
}

// transition returns the result of an operation in the form for a store. An unreadable record is Corrupt.
func transition(op Operation, id store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	if r == nil {
		return nil, store.NoSuch
	}
	a, err := Parse(r)
	if err != nil {
		return nil, store.Corrupt
	}
	o, code := op.apply(id, a, now)
	if code != "" {
		return nil, code
	}
	if o.same {
		return &store.ActivityOutcome{To: r}, ""
	}
	stored := &store.ActivityOutcome{Before: o.before}
	if stored.To, err = o.record(); err != nil { // its parts were read from JSON
		return nil, store.Corrupt
	}
	if o.told != nil {
		if stored.Message, err = o.told.Encode(); err != nil {
			return nil, store.Limit
		}
	}
	return stored, ""
}

func (o *outcome) record() (*store.Activity, error) {
	if o.to == nil {
		return nil, nil
	}
	return o.to.Record()
}

// first returns when the first deadline passes; zero for never.
func (a *Activity) first() time.Time {
	first, _ := a.First()
	return first.At
}

// passed reports whether a deadline has passed.
func (a *Activity) passed(now time.Time) bool {
	at := a.first()
	return !at.IsZero() && !now.Before(at)
}
