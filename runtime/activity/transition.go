package activity

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// The operations on activities. Each is a store.ActivityOperation: a store asks it what becomes of an activity, and keeps that.

// Take gives an activity to a worker that has asked for one.
type Take struct {
	Worker string // who asks, for people
	Nonce  string // random; the part of the token that makes it this attempt's
}

// Once implements store.ActivityOperation: the nonce tells.
func (Take) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (t Take) Transition(_ store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return change(r, func(a *Activity) (*store.ActivityOutcome, store.Code) {
		switch {
		case a.Taken() && a.Nonce == t.Nonce:
			return unchanged(r), ""
		case a.Taken():
			return nil, store.Conflict
		case now.Before(a.Available):
			return nil, store.TooEarly
		case a.passed(now):
			return nil, store.TimedOut
		}
		before := a.first()
		a.Available, a.Nonce, a.Worker, a.StartedAt, a.HeartbeatAt = time.Time{}, t.Nonce, t.Worker, now, time.Time{}
		return kept(a, before)
	})
}

// Return gives an activity back that its worker does not perform. The same attempt waits for another worker, with a new time to start.
type Return struct {
	Nonce string
}

// Once implements store.ActivityOperation: what is returned has no worker any more.
func (Return) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (t Return) Transition(_ store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return change(r, func(a *Activity) (*store.ActivityOutcome, store.Code) {
		if code := a.refuses(t.Nonce, now); code != "" {
			return nil, code
		}
		before := a.first()
		a.Available, a.Nonce, a.StartedAt, a.HeartbeatAt = now, "", time.Time{}, time.Time{}
		return kept(a, before)
	})
}

// Heartbeat says that the worker is alive, and how far it has come.
type Heartbeat struct {
	Nonce    string
	Progress *interpreter.Value // nil leaves what was said before
}

// Once implements store.ActivityOperation: it may happen again.
func (Heartbeat) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (h Heartbeat) Transition(_ store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return change(r, func(a *Activity) (*store.ActivityOutcome, store.Code) {
		if code := a.refuses(h.Nonce, now); code != "" {
			return nil, code
		}
		before := a.first()
		a.HeartbeatAt = now
		if h.Progress != nil {
			a.Progress = h.Progress
		}
		return kept(a, before)
	})
}

// Expire ends the attempt, or the whole activity, whose deadline has passed.
type Expire struct{}

// Once implements store.ActivityOperation: it happens only while it is due.
func (Expire) Once(store.ActivityID) string { return "" }

// Transition implements store.ActivityOperation.
func (Expire) Transition(id store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return change(r, func(a *Activity) (*store.ActivityOutcome, store.Code) {
		first, ok := a.First()
		if !ok || now.Before(first.At) {
			return nil, store.TooEarly
		}
		return a.expire(id, first, now)
	})
}

// change reads the record of an activity for f. One that cannot be read is left as it is.
func change(r *store.Activity, f func(*Activity) (*store.ActivityOutcome, store.Code)) (*store.ActivityOutcome, store.Code) {
	if r == nil {
		return nil, store.NoSuch
	}
	a, err := Parse(r)
	if err != nil {
		return nil, store.Corrupt
	}
	return f(a)
}

func unchanged(r *store.Activity) *store.ActivityOutcome { return &store.ActivityOutcome{To: r} }

// kept returns the outcome that an activity goes on, if a time has not come before; zero for any time.
func kept(a *Activity, before time.Time) (*store.ActivityOutcome, store.Code) {
	r, err := a.Record()
	if err != nil { // its parts were read from JSON
		return nil, store.Corrupt
	}
	return &store.ActivityOutcome{To: r, Before: before}, ""
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

// refuses returns why a report about an attempt does not count: another attempt has replaced it, or its time is over.
func (a *Activity) refuses(nonce string, now time.Time) store.Code {
	switch {
	case !a.Taken() || a.Nonce != nonce:
		return store.Fenced
	case a.passed(now):
		return store.TimedOut
	}
	return ""
}
