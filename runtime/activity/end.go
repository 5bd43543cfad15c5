package activity

import (
	"math"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// The ends of attempts, and what comes after them.

// Complete reports the result of an attempt.
type Complete struct {
	Nonce  string
	Result any
}

// Once implements store.ActivityOperation.
func (c Complete) Once(id store.ActivityID) string { return reported("completed", id, c.Nonce) }

// reported is by what a store remembers how the end of an attempt was reported.
func reported(how string, id store.ActivityID, nonce string) string {
	return "activity " + id.String() + " " + nonce + " " + how
}

// Transition implements store.ActivityOperation.
func (c Complete) Transition(id store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return change(r, func(a *Activity) (*store.ActivityOutcome, store.Code) {
		if code := a.refuses(c.Nonce, now); code != "" {
			return nil, code
		}
		return ended(id, inbox.Message{Type: interpreter.EventFinished, Attempt: a.attempt(), Result: &interpreter.Value{V: c.Result}}, a.first())
	})
}

// Fail reports that an attempt has failed.
type Fail struct {
	Nonce string
	Error *errors.Error
	// NonRetryable says that no other attempt is to be made.
	NonRetryable bool
}

// NonRetryable is the name of the extension that an error has which must not be tried again (promises 215).
const NonRetryable = "nonRetryable"

// Once implements store.ActivityOperation.
func (f Fail) Once(id store.ActivityID) string { return reported("failed", id, f.Nonce) }

// Transition implements store.ActivityOperation.
func (f Fail) Transition(id store.ActivityID, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return change(r, func(a *Activity) (*store.ActivityOutcome, store.Code) {
		if code := a.refuses(f.Nonce, now); code != "" {
			return nil, code
		}
		err := f.Error
		final := f.NonRetryable || a.isNonRetryable(err)
		if final {
			err = err.With(NonRetryable, true)
		}
		return a.failed(id, end{error: err, final: final, before: a.first()}, now)
	})
}

// isNonRetryable reports whether the policy names the type of an error.
func (a *Activity) isNonRetryable(err *errors.Error) bool {
	return slices.ContainsFunc(a.Retry.NonRetryable, func(named string) bool {
		return errors.Same(named, err.Type) || named == errors.StandardName(err.Type)
	})
}

// expire ends what a deadline is about. The next attempt waits from now on: while nobody could end this one, nobody could take that one.
func (a *Activity) expire(id store.ActivityID, d Deadline, now time.Time) (*store.ActivityOutcome, store.Code) {
	return a.failed(id, end{error: a.timeout(d), timeout: d.Kind, final: d.Kind == interpreter.DeadlineScheduleToClose}, now)
}

// timeout returns the error of a deadline that has passed.
func (a *Activity) timeout(d Deadline) *errors.Error {
	within := duration.Format(d.At.Sub(d.StartedAt))
	text := map[string]string{
		interpreter.DeadlineScheduleToStart: "no worker of the queue " + a.Queue + " took the activity " + a.Type + " within " + within,
		interpreter.DeadlineStartToClose:    "the worker did not finish the activity " + a.Type + " within " + within,
		interpreter.DeadlineScheduleToClose: "the activity " + a.Type + " did not finish within " + within + ", all attempts together",
		interpreter.DeadlineHeartbeat:       "the worker of the activity " + a.Type + " was silent for " + within,
	}[d.Kind]
	e := errors.Timeoutf("%s", text)
	e.Extensions = map[string]any{
		"timeoutKind": d.Kind, "startedAt": instant(d.StartedAt), "deadline": instant(d.At), "attempt": a.Attempt,
	}
	return e
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// end is how an attempt has failed.
type end struct {
	error   *errors.Error
	timeout string    // the kind of the deadline that has ended it; empty if none has
	final   bool      // there is to be no other attempt
	before  time.Time // when it does not count any more; zero for never
}

// failed ends the attempt that is being made or waits for a worker. The next one becomes available after a delay, unless the failure is
// final or there are no more attempts.
func (a *Activity) failed(id store.ActivityID, e end, now time.Time) (*store.ActivityOutcome, store.Code) {
	attempt := a.attempt()
	attempt.Timeout = e.timeout
	if e.final || a.isLastAttempt() {
		return ended(id, inbox.Message{Type: interpreter.EventFinished, Error: e.error, Attempt: attempt}, e.before)
	}
	a.Available = now.Add(a.delay()).Truncate(time.Millisecond)
	a.Attempt++
	a.Failure, a.Nonce, a.StartedAt, a.HeartbeatAt = e.error, "", time.Time{}, time.Time{}
	outcome, code := kept(a, e.before)
	if code != "" {
		return nil, code
	}
	return told(outcome, id, inbox.Message{Type: interpreter.EventAttemptFailed, Error: e.error, Attempt: attempt, Until: a.Available})
}

func (a *Activity) isLastAttempt() bool {
	return a.Retry.MaxAttempts > 0 && a.Attempt >= a.Retry.MaxAttempts
}

// IsLast reports whether the activity ends when a deadline of a kind passes now; otherwise it is attempted again.
func (a *Activity) IsLast(kind string) bool {
	return kind == interpreter.DeadlineScheduleToClose || a.isLastAttempt()
}

// delay returns how long the next attempt waits after the current one has failed.
func (a *Activity) delay() time.Duration {
	r := a.Retry
	if n := len(r.Delays); n > 0 {
		return r.Delays[min(a.Attempt, n)-1]
	}
	grown := float64(r.Initial) * math.Pow(r.Factor, float64(a.Attempt-1))
	if r.Max > 0 && grown > float64(r.Max) {
		return r.Max
	}
	return time.Duration(min(grown, float64(duration.Max)))
}

// ended ends the activity, and brings its end to the run.
func ended(id store.ActivityID, m inbox.Message, before time.Time) (*store.ActivityOutcome, store.Code) {
	return told(&store.ActivityOutcome{Before: before}, id, m)
}

// told adds a message to the run to an outcome.
func told(o *store.ActivityOutcome, id store.ActivityID, m inbox.Message) (*store.ActivityOutcome, store.Code) {
	m.Effect = id.Effect
	message, err := m.Encode()
	if err != nil {
		return nil, store.Limit
	}
	o.Message = message
	return o, ""
}

// ExpireDirectly ends what a deadline of an activity that no store keeps is about: it returns what the activity is then, nil if it has
// ended, and what its run is told.
func ExpireDirectly(id store.ActivityID, r *store.Activity, now time.Time) (to *store.Activity, told interpreter.Event, err error) {
	outcome, code := Expire{}.Transition(id, r, now)
	if code != "" {
		return nil, nil, store.Refuse(code, now, "activity %s", id)
	}
	message, err := inbox.Parse(outcome.Message)
	if err != nil {
		return nil, nil, err
	}
	told, err = message.Event()
	return outcome.To, told, err
}
