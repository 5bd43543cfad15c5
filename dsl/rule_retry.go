package dsl

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// checkRetries: SW305 more retries than the time allows, SW306 retries without an end, SW308 odd durations, SW310 idle lists of delays.
func checkRetries(c *checker) {
	c.walkScopes(func(t Task, outer scope) {
		c.endlessAttempts(t, outer)
		try, ok := t.(*TryTask)
		var policy *RetryPolicy
		if ok {
			policy = c.w.RetryPolicyOf(&try.Catch)
		}
		if c.reportIdleDelays(t, policy); policy == nil {
			return
		}
		c.retryDurations(policy)
		inner := c.inside(outer, try.Timeout)
		inner = inner.limitedBy(policy.LimitDuration)
		if policy.AttemptCount == nil && policy.LimitDuration == nil && !inner.bounded {
			c.add(Diagnostic{Code: "SW306", Pointer: try.Catch.Pointer.Key("retry"), Range: c.w.Source.Key(try.Catch.Pointer.Key("retry")),
				Message: "nothing ends these retries", Help: "give the policy a limit, or put a timeout around the try"})
		}
		if attempt, known := knownLength(policy.AttemptDuration); known && inner.limit > 0 && attempt >= inner.limit {
			c.add(Diagnostic{Code: "SW301", Pointer: policy.AttemptDuration.Pointer,
				Message: fmt.Sprintf("the limit of %s for an attempt never fires: one of %s around it comes first", duration.Format(attempt), duration.Format(inner.limit)),
				Related: related(c.w.Source.Key(inner.at), "the one around it")})
		}
		c.reportLateRetries(try, policy, inner)
	})
}

// endlessAttempts: SW306, a task that is attempted automatically, any number of times, without a bound around it.
func (c *checker) endlessAttempts(t Task, outer scope) {
	retry := t.Traits().Retry
	if retry.Policy == nil || retry.Policy.MaxAttempts > 0 || retry.Within != nil || c.inside(outer, t.Base().Timeout).bounded {
		return
	}
	c.add(Diagnostic{Code: "SW306", Pointer: retry.Policy.Pointer, Range: c.w.Source.Key(retry.Policy.Pointer),
		Message: "nothing ends these attempts", Help: "give `maxAttempts`, or `timeouts: { scheduleToClose: ... }`, or put a timeout around the task"})
}

// reportIdleDelays reports a list of delays without a policy, and the members of a policy that such a list replaces.
func (c *checker) reportIdleDelays(t Task, policy *RetryPolicy) {
	if len(t.Base().Engine.BackoffList) == 0 {
		return
	}
	at := t.Base().Pointer.Key("metadata").Key("swrun").Key("backoffList")
	switch {
	case policy == nil:
		c.add(Diagnostic{Code: "SW310", Pointer: at, Range: c.w.Source.Key(at), Message: "`backoffList` has no effect: this task has no retry policy",
			Help: "put it on a try whose catch has `retry`"})
	case policy.Delay != nil || policy.Backoff != "":
		c.add(Diagnostic{Code: "SW310", Pointer: at, Range: c.w.Source.Key(at), Message: "`backoffList` takes the place of the policy's `delay` and `backoff`, which have no effect",
			Help: "leave out one or the other"})
	}
}

func (c *checker) retryDurations(policy *RetryPolicy) {
	from, knownFrom := knownLength(policy.JitterFrom)
	to, knownTo := knownLength(policy.JitterTo)
	if knownFrom && knownTo && from > to {
		c.add(Diagnostic{Code: "SW308", Pointer: policy.JitterFrom.Pointer, Message: fmt.Sprintf("the jitter goes from %s down to %s", duration.Format(from), duration.Format(to))})
	}
	delay, knownDelay := knownLength(policy.Delay)
	limit, knownLimit := knownLength(policy.LimitDuration)
	if knownDelay && knownLimit && limit > 0 && delay >= limit {
		c.add(Diagnostic{Code: "SW308", Pointer: policy.Delay.Pointer, Message: fmt.Sprintf("the delay of %s is not shorter than the limit of %s for all attempts", duration.Format(delay), duration.Format(limit))})
	}
}

// reportLateRetries: SW305, adds up the delays of a policy and compares the sum with the time limit around it.
func (c *checker) reportLateRetries(try *TryTask, policy *RetryPolicy, s scope) {
	delay, known := knownLength(policy.Delay)
	known = known || len(policy.Delays) > 0
	if !known && !policy.usesDefaultDelay() || policy.AttemptCount == nil || s.limit == 0 || known && delay == 0 && len(policy.Delays) == 0 {
		return
	}
	late := s.firstLate(*policy.AttemptCount, func(n int) (time.Duration, bool) {
		if listed := policy.ListedDelay(n); listed != nil {
			delay, _ = knownLength(listed)
		}
		return policy.DelayBefore(n, delay), true
	})
	if late.n > 0 {
		c.addLateRetry(try.Catch.Pointer.Key("retry"), s, fmt.Sprintf("at most %d of %d retries can start within %s: the delays are %s",
			late.n-1, *policy.AttemptCount, duration.Format(s.limit), late.delays))
	}
}

// addLateRetry reports, at a key, retries after the limit of a scope.
func (c *checker) addLateRetry(at Pointer, s scope, message string) {
	c.add(Diagnostic{Code: "SW305", Pointer: at, Range: c.w.Source.Key(at), Message: message, Related: related(c.w.Source.Key(s.at), "the limit")})
}

// lateRetry is the first retry that cannot start before the limit of a scope.
type lateRetry struct {
	n      int    // counts from 1; 0 if all are in time
	delays string // the first delays up to it
}

// firstLate adds up the delays before some retries, as far as they are known, until they reach the limit of the scope.
func (s scope) firstLate(retries int, delayBefore func(n int) (delay time.Duration, known bool)) lateRetry {
	var sum time.Duration
	var delays []string
	for n := 1; n <= min(retries, 60) && s.limit > 0; n++ {
		next, known := delayBefore(n)
		if !known {
			return lateRetry{}
		}
		if n <= 5 {
			delays = append(delays, duration.Format(next))
		}
		if sum += min(next, s.limit); sum >= s.limit {
			if n > len(delays) {
				delays = append(delays, "...")
			}
			return lateRetry{n, strings.Join(delays, "+")}
		}
	}
	return lateRetry{}
}
