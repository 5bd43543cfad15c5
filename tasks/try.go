package tasks

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
)

func try() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindTry, Compile: compileTry}
}

func compileTry(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	task := t.(*dsl.TryTask)
	body := &tryBody{
		try: b.List("try", task.Try), as: task.Catch.As, filter: b.ErrorFilter(task.Catch.Errors),
		when:       b.Condition(task.Catch.When),
		exceptWhen: b.Condition(task.Catch.ExceptWhen),
		then:       b.Jump(task.Catch.Pointer, task.Catch.Then),
		retry:      compileRetry(b, &task.Catch),
	}
	if task.Catch.Do != nil {
		body.do = b.List("catch/do", task.Catch.Do)
	}
	return body
}

func compileRetry(b *interpreter.Builder, c *dsl.Catch) *retry {
	policy := b.Workflow().RetryPolicyOf(c)
	if policy == nil {
		if c.RetryUse.Name != "" {
			b.Add(c.RetryUse.Undefined())
		}
		return nil
	}
	delay := b.Duration(policy.Delay)
	if len(policy.Delays) > 0 {
		delay = nil // it is not used
	}
	return &retry{
		policy:          policy,
		when:            b.Condition(policy.When),
		exceptWhen:      b.Condition(policy.ExceptWhen),
		delay:           delay,
		attemptDuration: b.Duration(policy.AttemptDuration),
		limitDuration:   b.Duration(policy.LimitDuration),
		jitterFrom:      b.Duration(policy.JitterFrom),
		jitterTo:        b.Duration(policy.JitterTo),
	}
}

// tryBody runs its list, retries it by the policy, and then runs catch.do (semantics section 7).
type tryBody struct {
	try, do          *interpreter.List // do is nil if absent
	as               string
	filter           *dsl.ErrorFilter
	when, exceptWhen *expr.Code
	then             *interpreter.Jump
	retry            *retry
}

type tryProgress struct {
	Retries  int  `json:"retries,omitempty"`
	Renewed  int  `json:"renewed,omitempty"`  // the retries that no longer count: see Renew
	Catching bool `json:"catching,omitempty"` // catch.do is running: its errors are not caught here
}

func (t *tryBody) Enter(s *interpreter.Scope) interpreter.Next {
	if t.retry != nil {
		limit, err := t.retry.limit(s)
		if err != nil {
			return interpreter.Fail(err)
		}
		if !limit.IsZero() {
			s.AddDeadline(interpreter.DeadlineRetry, limit)
		}
	}
	return t.attempt(s, 0)
}

// attempt runs the list; n is the number of retries so far.
func (t *tryBody) attempt(s *interpreter.Scope, n int) interpreter.Next {
	next := interpreter.Run(t.try, s.Input(), interpreter.Repetition{Attempt: n}, nil)
	if t.retry == nil || t.retry.attemptDuration == nil {
		return next
	}
	d, err := t.retry.attemptDuration.Eval(s, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	if d.IsZero() { // zero disables it (semantics 9.4)
		return next
	}
	return next.WithDeadline(interpreter.DeadlineAttempt, d, s.Now())
}

func (t *tryBody) ChildDone(s *interpreter.Scope, c interpreter.Child) interpreter.Next {
	if interpreter.Progress[tryProgress](s).Catching {
		return interpreter.Direct(c.Output, t.then)
	}
	return interpreter.Done(c.Output)
}

func (t *tryBody) ChildFailed(s *interpreter.Scope, err *errors.Error) interpreter.Next {
	progress := interpreter.Progress[tryProgress](s)
	if progress.Catching {
		return interpreter.Fail(err)
	}
	caught := err.Value()
	s.Bind(t.as, caught)
	matches, invalid := t.matches(s, err, caught)
	if invalid != nil {
		return interpreter.Fail(invalid)
	}
	if !matches {
		return interpreter.Fail(err)
	}
	if next, retries := t.again(s, progress, err); retries {
		s.RecordCaught(err)
		return next
	}
	if t.do == nil && t.then == nil && t.retry != nil {
		return interpreter.Fail(err) // exhausted, without catch.do
	}
	s.RecordCaught(err)
	s.BindAfter(t.as, caught)
	if t.do == nil {
		return interpreter.Direct(s.Input(), t.then)
	}
	progress.Catching = true
	s.Changed()
	return interpreter.Run(t.do, s.Input(), interpreter.Repetition{}, interpreter.Vars{t.as: caught})
}

// MovesFrom implements interpreter.Mover: a catch in progress has the error in its variable.
func (t *tryBody) MovesFrom(s *interpreter.Scope, old interpreter.Body) string {
	if was := old.(*tryBody); interpreter.Progress[tryProgress](s).Catching && t.as != was.as {
		return fmt.Sprintf("its catch has the error as $%s instead of $%s", t.as, was.as)
	}
	return ""
}

// MayCatch implements interpreter.Catcher.
func (t *tryBody) MayCatch(list string, err *errors.Error) bool {
	return list == "try" && t.filter.Mismatch(err) == ""
}

// matches applies the filter, when and exceptWhen, in this order.
func (t *tryBody) matches(s *interpreter.Scope, err *errors.Error, caught any) (bool, *errors.Error) {
	if t.filter.Mismatch(err) != "" {
		return false, nil
	}
	return both(s, t.when, t.exceptWhen, caught)
}

// both reports whether when holds and exceptWhen does not; an absent condition excludes nothing.
func both(s *interpreter.Scope, when, exceptWhen *expr.Code, v any) (bool, *errors.Error) {
	holds, err := s.EvalCondition(when, v, true)
	if err != nil || !holds {
		return false, err
	}
	excepted, err := s.EvalCondition(exceptWhen, v, false)
	return !excepted, err
}

// again waits for the next attempt if the policy grants one. An error that is marked as not retryable is tried again only by a policy whose `when`
// names that mark.
func (t *tryBody) again(s *interpreter.Scope, progress *tryProgress, failure *errors.Error) (next interpreter.Next, retries bool) {
	r, caught := t.retry, failure.Value()
	if r != nil && failure.IsNonRetryable() && !strings.Contains(r.policy.When.Text, errors.NonRetryable) {
		return next, false
	}
	if r == nil || r.policy.AttemptCount != nil && progress.Retries-progress.Renewed >= *r.policy.AttemptCount {
		return next, false
	}
	wanted, err := both(s, r.when, r.exceptWhen, caught)
	if err != nil {
		return interpreter.Fail(err), true
	}
	if !wanted {
		return next, false
	}
	delay, err := r.wait(s, progress.Retries-progress.Renewed+1)
	if err != nil {
		return interpreter.Fail(err), true
	}
	progress.Retries++
	s.Changed()
	return s.Retry(progress.Retries+1, s.Now().Add(delay), failure), true
}

func (t *tryBody) Wake(s *interpreter.Scope) interpreter.Next {
	return t.attempt(s, interpreter.Progress[tryProgress](s).Retries)
}

// Retries implements interpreter.Retrier.
func (t *tryBody) Retries() bool { return t.retry != nil }

// Renew implements interpreter.Retrier.
func (t *tryBody) Renew(s *interpreter.Scope) bool {
	progress := interpreter.Progress[tryProgress](s)
	if progress.Retries == progress.Renewed {
		return false
	}
	progress.Renewed = progress.Retries
	s.Changed()
	return true
}

// retry is a compiled retry policy.
type retry struct {
	policy                         *dsl.RetryPolicy
	when, exceptWhen               *expr.Code
	delay                          *interpreter.Duration
	attemptDuration, limitDuration *interpreter.Duration
	jitterFrom, jitterTo           *interpreter.Duration
}

// limit returns the maximum duration of all attempts together; zero means no limit.
func (r *retry) limit(s *interpreter.Scope) (dsl.Duration, *errors.Error) {
	if r.limitDuration == nil {
		return dsl.Duration{}, nil
	}
	return r.limitDuration.Eval(s, s.Input())
}

// wait returns the delay before retry n, which counts from 1 (semantics 7.10).
func (r *retry) wait(s *interpreter.Scope, n int) (time.Duration, *errors.Error) {
	delay, err := span(s, r.delay)
	if err != nil {
		return 0, err
	}
	if listed := r.policy.ListedDelay(n); listed != nil {
		delay = min(listed.AddTo(s.Now()).Sub(s.Now()), duration.Max)
	}
	delay = r.policy.DelayBefore(n, delay)
	from, err := span(s, r.jitterFrom)
	if err != nil {
		return 0, err
	}
	to, err := span(s, r.jitterTo)
	if err != nil {
		return 0, err
	}
	if to > from {
		from += multiply(to-from, s.Random(fmt.Sprint("jitter", n)))
	}
	return min(delay+from, duration.Max), nil
}

func span(s *interpreter.Scope, d *interpreter.Duration) (time.Duration, *errors.Error) {
	if d == nil {
		return 0, nil
	}
	v, err := d.Eval(s, s.Input())
	if err != nil {
		return 0, err
	}
	return min(v.AddTo(s.Now()).Sub(s.Now()), duration.Max), nil
}

func multiply(d time.Duration, factor float64) time.Duration {
	if product := float64(d) * factor; product < float64(duration.Max) {
		return time.Duration(product)
	}
	return duration.Max
}
