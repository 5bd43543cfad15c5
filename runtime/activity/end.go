package activity

import (
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// The ends of attempts, and the next attempts.

// Complete reports the result of an attempt.
type Complete struct {
	Nonce  string
	Result any
	// Content is a digest of the report: a report with another content is not a repetition.
	Content string
}

// Once implements store.ActivityOperation.
func (c Complete) Once(id store.ActivityID) string {
	return reported("completed", id, c.Nonce, c.Content)
}

// reported is the key under which a store remembers a report of the end of an attempt.
func reported(how string, id store.ActivityID, nonce, content string) string {
	return strings.TrimSpace("activity " + id.String() + " " + nonce + " " + how + " " + content)
}

// Transition implements store.ActivityOperation.
func (c Complete) Transition(id store.ActivityID, _ *store.Lifecycle, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(c, id, r, now)
}

func (c Complete) apply(id store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	if code := a.refuses(c.Nonce, now); code != "" {
		return outcome{}, code
	}
	return a.ended(id, inbox.Message{Type: interpreter.EventFinished, Attempt: a.attempt(), Result: &interpreter.Value{V: c.Result}}, a.first()), ""
}

// Fail reports that an attempt has failed.
type Fail struct {
	Nonce string
	Error *errors.Error
	// NonRetryable prevents further attempts.
	NonRetryable bool
	Content      string // as in Complete
}

// Once implements store.ActivityOperation.
func (f Fail) Once(id store.ActivityID) string { return reported("failed", id, f.Nonce, f.Content) }

// Transition implements store.ActivityOperation.
func (f Fail) Transition(id store.ActivityID, _ *store.Lifecycle, r *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	return transition(f, id, r, now)
}

func (f Fail) apply(id store.ActivityID, a *Activity, now time.Time) (outcome, store.Code) {
	if code := a.refuses(f.Nonce, now); code != "" {
		return outcome{}, code
	}
	e := end{error: f.Error, before: a.first()}
	if f.NonRetryable || a.isNonRetryable(f.Error.Type) {
		e.error, e.final = f.Error.With(interpreter.MemberNonRetryable, true), true
	}
	return a.failed(id, e, now), ""
}

// isNonRetryable reports whether the policy names a type of errors.
func (a *Activity) isNonRetryable(of string) bool {
	return slices.ContainsFunc(a.Retry.NonRetryable, func(named string) bool { return errors.Same(named, of) })
}

// expire ends the attempt or activity whose deadline passed. The delay before the next attempt counts from now on: while this attempt could
// not be ended, the next one could not be taken.
func (a *Activity) expire(id store.ActivityID, d Deadline, now time.Time) outcome {
	e := end{error: a.timeout(d), timeout: d.Kind, final: d.Kind == interpreter.DeadlineScheduleToClose}
	if !e.final && a.isNonRetryable(errors.Timeout) {
		e.error, e.final = e.error.With(interpreter.MemberNonRetryable, true), true
	}
	return a.failed(id, e, now)
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
		interpreter.MemberTimeoutKind: d.Kind, "startedAt": instant(d.StartedAt), "deadline": instant(d.At), "attempt": a.Attempt,
	}
	return e
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// end is how an attempt has failed.
type end struct {
	error   *errors.Error
	timeout string    // the kind of the deadline that ended it; otherwise empty
	final   bool      // there is to be no other attempt
	before  time.Time // when it does not count any more; zero for never
}

// failed ends the attempt that is being made or waits for a worker. The next one becomes available after a delay, unless the failure is
// final or there are no more attempts.
func (a *Activity) failed(id store.ActivityID, e end, now time.Time) outcome {
	attempt := a.attempt()
	attempt.Timeout = e.timeout
	if e.final || a.isLastAttempt() {
		return a.ended(id, inbox.Message{Type: interpreter.EventFinished, Error: e.error, Attempt: attempt}, e.before)
	}
	delay := a.delay()
	a.Available, a.Parked = now.Add(delay).Truncate(time.Millisecond), time.Time{}
	a.Attempt++
	a.Failure, a.Nonce, a.StartedAt, a.HeartbeatAt = e.error, "", time.Time{}, time.Time{}
	told := inbox.Message{Type: interpreter.EventAttemptFailed, Effect: id.Effect, Pointer: a.Pointer, Error: e.error, Attempt: attempt, Delay: delay, Until: a.Available}
	return outcome{to: a, told: &told, before: e.before}
}

func (a *Activity) isLastAttempt() bool {
	return a.Retry.MaxAttempts > 0 && a.Attempt >= a.Retry.MaxAttempts
}

// IsLast reports whether the activity ends when a deadline of a kind passes now; otherwise it is attempted again.
func (a *Activity) IsLast(kind string) bool {
	return kind == interpreter.DeadlineScheduleToClose || a.isLastAttempt() || a.isNonRetryable(errors.Timeout)
}

// delay returns how long the next attempt waits after the current one has failed.
func (a *Activity) delay() time.Duration {
	r := a.Retry
	if n := len(r.Delays); n > 0 {
		return r.Delays[min(a.Attempt, n)-1]
	}
	return duration.Growing{Initial: r.Initial, Factor: r.Factor, Max: r.Max}.At(a.Attempt)
}

// ended ends the activity, and brings its end to the run.
func (a *Activity) ended(id store.ActivityID, m inbox.Message, before time.Time) outcome {
	m.Effect, m.Pointer = id.Effect, a.Pointer
	return outcome{told: &m, before: before}
}

// Direct is an operation on an activity that is stored by the owner of its run together with the run, or not stored at all.
type Direct struct {
	To      *store.Activity   // the new record; nil if it ended
	Told    interpreter.Event // the event for its run; nil for none
	Attempt int               // that it is about
	Before  time.Time         // time before which it must be stored; zero for any time
}

// Do makes an operation happen on an activity, without a store. Its error is a refusal, or that the record cannot be read.
func Do(op Operation, id store.ActivityID, r *store.Activity, now time.Time) (Direct, error) {
	a, err := Parse(r)
	if err != nil {
		return Direct{}, err
	}
	attempt := a.Attempt
	o, code := op.apply(id, a, now)
	if code != "" {
		return Direct{}, store.Refuse(code, now, "activity %s", id)
	}
	d := Direct{To: r, Attempt: attempt, Before: o.before}
	if !o.same {
		d.To, err = o.record()
	}
	if o.told != nil && err == nil {
		d.Told, err = o.told.Event()
	}
	return d, err
}
