package dsl

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// checkRetries: SW305 more retries than the time allows, SW306 retries without an end, SW308 odd durations.
func checkRetries(c *checker) {
	c.walkScopes(func(t Task, outer scope) {
		try, ok := t.(*TryTask)
		if !ok {
			return
		}
		policy := c.w.RetryPolicyOf(&try.Catch)
		if policy == nil {
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
	if !known && !policy.usesDefaultDelay() || policy.AttemptCount == nil || s.limit == 0 || delay == 0 && !policy.usesDefaultDelay() {
		return
	}
	var sum time.Duration
	delays := ""
	for n := 1; n <= min(*policy.AttemptCount, 60); n++ {
		next := policy.DelayBefore(n, delay)
		if n <= 5 {
			delays += "+" + duration.Format(next)
		}
		if sum += min(next, s.limit); sum >= s.limit {
			c.add(Diagnostic{
				Code: "SW305", Pointer: try.Catch.Pointer.Key("retry"), Range: c.w.Source.Key(try.Catch.Pointer.Key("retry")),
				Message: fmt.Sprintf("at most %d of %d retries can start within %s: the delays are %s", n-1, *policy.AttemptCount, duration.Format(s.limit), delays[1:]),
				Related: related(c.w.Source.Key(s.at), "the limit"),
			})
			return
		}
	}
}
