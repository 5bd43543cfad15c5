package dsl

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/suggest"
)

// checkActivities: SW305 attempts that do not fit, SW308 odd delays, SW311 a retry of which a part has no effect, SW407 misspelt types.
func checkActivities(c *checker) {
	c.walkScopes(func(t Task, outer scope) {
		retry := t.Traits().Retry
		if retry.Policy == nil {
			return
		}
		c.reportIdleRetry(retry.Policy)
		c.reportOddGrowth(retry.Policy)
		c.reportLateAttempts(retry.Policy, c.inside(outer, t.Base().Timeout).limitedBy(retry.Within))
		for i, named := range retry.Policy.NonRetryable {
			c.misspeltType(retry.Policy.Pointer.Key("nonRetryable").Index(i), named)
		}
	})
}

// reportIdleRetry: SW311, options of attempts that cannot happen.
func (c *checker) reportIdleRetry(r *ActivityRetry) {
	at := r.Pointer
	const help = "`maxAttempts` counts the first attempt too: allow more, or leave this out"
	idle := func(at Pointer, message string) {
		c.add(Diagnostic{Code: "SW311", Pointer: at, Range: c.w.Source.Key(at), Message: message, Help: help})
	}
	if _, _, written := c.w.Source.find(at.Key("backoff")); written && r.MaxAttempts == 1 {
		idle(at.Key("backoff"), "`backoff` has no effect: there is one attempt")
	}
	if len(r.NonRetryable) > 0 && r.MaxAttempts == 1 {
		idle(at.Key("nonRetryable"), "`nonRetryable` has no effect: there is one attempt")
	}
	if used := r.MaxAttempts - 1; used > 0 && used < len(r.Delays) {
		idle(at.Key("backoff").Index(used), fmt.Sprintf("this delay has no effect: between %d attempts there are %d", r.MaxAttempts, used))
	}
}

// reportOddGrowth: SW308, delays that begin above their maximum.
func (c *checker) reportOddGrowth(r *ActivityRetry) {
	initial, knownInitial := knownLength(r.Initial)
	longest, knownLongest := knownLength(r.Max)
	if knownInitial && knownLongest && initial > longest {
		c.add(Diagnostic{Code: "SW308", Pointer: r.Initial.Pointer, Range: c.w.Source.Value(r.Initial.Pointer),
			Message: fmt.Sprintf("the first delay of %s is longer than `max`, so that every delay is %s", duration.Format(initial), duration.Format(longest)),
			Help:    "make `initial` the shortest delay, and `max` the longest", Related: related(c.w.Source.Key(r.Max.Pointer), "the longest")})
	}
}

// reportLateAttempts: SW305, adds up the delays between attempts. If the number of attempts is unlimited, the timeout is meant to end them; only a
// first delay that is too long cannot be meant.
func (c *checker) reportLateAttempts(r *ActivityRetry, s scope) {
	retries := r.MaxAttempts - 1
	if r.MaxAttempts == 0 {
		retries = 1
	}
	late := s.firstLate(retries, r.delayBefore)
	if late.n == 0 {
		return
	}
	message := fmt.Sprintf("at most %d of %d retries can start within %s: the delays are %s", late.n-1, retries, duration.Format(s.limit), late.delays)
	if r.MaxAttempts == 0 {
		message = fmt.Sprintf("no retry can start within %s: the first delay is %s", duration.Format(s.limit), late.delays)
	}
	c.addLateRetry(r.Pointer, s, message)
}

// delayBefore returns the delay before retry n, if it is known before a run.
func (r *ActivityRetry) delayBefore(n int) (delay time.Duration, known bool) {
	if len(r.Delays) > 0 {
		return knownLength(r.Delays[min(n, len(r.Delays))-1])
	}
	grown := duration.Growing{Initial: DefaultInitialDelay, Factor: r.Factor}
	if r.Initial != nil {
		if grown.Initial, known = knownLength(r.Initial); !known {
			return 0, false
		}
	}
	if grown.Max = max(DefaultMaxDelay, grown.Initial); r.Max != nil {
		if grown.Max, known = knownLength(r.Max); !known {
			return 0, false
		}
	}
	return grown.At(n), true
}

// misspeltType: SW407, a type in `nonRetryable` that is almost a standard type. Any other type is a worker's own.
func (c *checker) misspeltType(at Pointer, named string) {
	if errors.StandardType(named) != "" || errors.StandardName(named) != "" {
		return
	}
	d := Diagnostic{Code: "SW407", Pointer: at, Message: "no standard error type is called `%s`, so that errors of the one meant are attempted again"}
	meant := suggest.Word(named, standardNames())
	switch {
	case errors.InStandardFolder(named) != "":
		c.add(c.asStandard(named, d))
	case meant != "":
		d.Message, d.Label = fmt.Sprintf(d.Message, named), didYouMean(meant)
		d.Fix = onlyIf(false, c.replace(at, meant)) // a worker's own type may have this name
		c.add(d)
	}
}
