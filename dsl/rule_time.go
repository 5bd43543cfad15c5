package dsl

import (
	"fmt"
	"time"
)

// scope is what bounds a task from outside: the timeouts around it that are known.
type scope struct {
	limit   time.Duration // the shortest one; 0 is none
	at      Pointer       // of the shortest one
	bounded bool          // there is a timeout around, known or not
}

// literal returns how long a duration is, and whether that is known before a run. Years and months count as 365 and 30
// days.
func literal(d *Duration) (time.Duration, bool) {
	if d == nil || d.Expression != "" || d.broken {
		return 0, false
	}
	const day = 24 * time.Hour
	return d.Exact + time.Duration(d.Years)*365*day + time.Duration(d.Months)*30*day, true
}

// timeoutOf resolves a timeout by name.
func (c *checker) timeoutOf(t *Timeout) *Duration {
	if t == nil {
		return nil
	}
	if t.Use != "" {
		t = c.w.Use.Timeouts[t.Use]
	}
	if t == nil {
		return nil
	}
	return t.After
}

// inside returns the scope of what a timeout bounds.
func (c *checker) inside(outer scope, t *Timeout) scope {
	after := c.timeoutOf(t)
	if t == nil {
		return outer
	}
	inner := scope{limit: outer.limit, at: outer.at, bounded: true}
	if limit, known := literal(after); known && (inner.limit == 0 || limit < inner.limit) {
		inner.limit, inner.at = limit, t.Pointer
	}
	return inner
}

// walkScopes calls visit for every task with the scope around it.
func (c *checker) walkScopes(visit func(t Task, outer scope)) {
	var list func(tasks TaskList, s scope)
	task := func(t Task, s scope) {
		visit(t, s)
		inner := c.inside(s, t.Base().Timeout)
		for _, l := range Lists(t) {
			list(l, inner)
		}
	}
	list = func(tasks TaskList, s scope) {
		for _, t := range tasks {
			task(t, s)
		}
	}
	root := c.inside(scope{}, c.w.Timeout)
	list(c.w.Do, root)
	unknown := scope{bounded: true} // where functions and extensions run is not known here
	for _, name := range sortedKeys(c.w.Use.Functions) {
		task(c.w.Use.Functions[name], unknown)
	}
	for _, e := range c.w.Use.Extensions {
		list(e.Before, unknown)
		list(e.After, unknown)
	}
}

// times is how long something takes: at least least, and no longer than most unless that is 0, which is unknown.
type times struct {
	least, most time.Duration
}

// length estimates a task's time without its own timeout.
func (c *checker) length(t Task) times {
	if t.Base().If != "" {
		return times{}
	}
	switch t := t.(type) {
	case *WaitTask:
		if d, known := literal(t.Wait); known {
			return times{d, d}
		}
	case *DoTask:
		return times{least: c.lengthOf(t.Do)}
	case *TryTask:
		return times{least: 0}
	case *ForkTask:
		var longest time.Duration
		shortest := time.Duration(-1)
		for _, b := range t.Branches {
			least := c.bounded(b)
			longest = max(longest, least)
			if shortest < 0 || least < shortest {
				shortest = least
			}
		}
		if t.Compete {
			return times{least: max(shortest, 0)}
		}
		return times{least: longest}
	}
	return times{}
}

// bounded is the least time of a task with its own timeout.
func (c *checker) bounded(t Task) time.Duration {
	least := c.length(t).least
	if limit, known := literal(c.timeoutOf(t.Base().Timeout)); known {
		least = min(least, limit)
	}
	return least
}

// lengthOf is the least time of a list, as far as it runs straight through.
func (c *checker) lengthOf(tasks TaskList) time.Duration {
	var sum time.Duration
	for _, t := range tasks {
		sum += c.bounded(t)
		if _, leaves := t.(*SwitchTask); leaves || !isContinue(t.Base().Then) {
			break
		}
	}
	return sum
}

func isContinue(then string) bool { return then == "" || then == ThenContinue }

// checkTimes: SW301 a timeout that never fires first, SW302 a scope that always times out.
func checkTimes(c *checker) {
	if limit, known := literal(c.timeoutOf(c.w.Timeout)); known {
		c.always(limit, c.lengthOf(c.w.Do), c.w.Timeout.Pointer, "the workflow")
	}
	c.walkScopes(func(t Task, outer scope) {
		timeout := t.Base().Timeout
		limit, known := literal(c.timeoutOf(timeout))
		if !known {
			return
		}
		if outer.limit > 0 && limit >= outer.limit {
			c.add(Diagnostic{
				Code: "SW301", Pointer: timeout.Pointer,
				Message: fmt.Sprintf("this timeout of %s never fires: one of %s around it comes first", limit, outer.limit),
				Related: []Related{{c.w.Source.Key(outer.at), "the one around it"}},
			})
		}
		if limit == 0 {
			c.add(Diagnostic{Code: "SW308", Pointer: timeout.Pointer, Message: "a timeout of zero fires at once"})
			return
		}
		c.always(limit, c.length(t).least, timeout.Pointer, fmt.Sprintf("`%s`", t.Base().Name))
	})
}

func (c *checker) always(limit, least time.Duration, at Pointer, what string) {
	if limit > 0 && least >= limit {
		c.add(Diagnostic{Code: "SW302", Pointer: at,
			Message: fmt.Sprintf("%s always times out: its waits alone take %s, and the timeout is %s", what, least, limit)})
	}
}

// checkBounds: SW307 what may take for ever, SW309 loops of unknown length under a timeout.
func checkBounds(c *checker) {
	first := true
	c.walkScopes(func(t Task, outer scope) {
		bounded := outer.bounded || t.Base().Timeout != nil
		switch t := t.(type) {
		case *CallHTTP, *CallOpenAPI, *CallGRPC, *CallAsyncAPI, *CallA2A, *CallMCP, *RunShell, *RunScript, *RunContainer, *RunWorkflow, *ListenTask:
			if bounded {
				return
			}
			d := Diagnostic{
				Code: "SW307", Pointer: t.Base().Pointer, Range: c.w.Source.Key(t.Base().Pointer),
				Message: fmt.Sprintf("nothing bounds how long `%s` takes", t.Base().Name), Help: "give it, something around it, or the workflow a timeout",
			}
			if first { // one timeout serves all
				d.Fix, first = c.appendTimeout(), false
			}
			c.add(d)
		case *ForTask:
			if _, inline := t.In.([]any); !inline && t.Base().Timeout != nil {
				c.add(Diagnostic{Code: "SW309", Pointer: t.Base().Timeout.Pointer,
					Message: fmt.Sprintf("how many items `%s` goes through is not known, and the timeout is for all of them", t.Base().Name)})
			}
		}
	})
}

// appendTimeout adds a timeout to the workflow, as the last thing of the document.
func (c *checker) appendTimeout() []Edit {
	text := c.w.Source.Text
	if len(text) == 0 || text[0] == '{' {
		return nil
	}
	end := c.w.Source.position(len(text))
	addition := "timeout:\n  after: PT5M\n"
	if text[len(text)-1] != '\n' {
		addition = "\n" + addition
	}
	return []Edit{{Range: Range{end, end}, NewText: addition}}
}

// checkRetries: SW305 a plan that does not fit, SW306 no end, SW308 odd durations.
func checkRetries(c *checker) {
	c.walkScopes(func(t Task, outer scope) {
		try, ok := t.(*TryTask)
		if !ok {
			return
		}
		policy := try.Catch.Retry
		if try.Catch.RetryUse != "" {
			policy = c.w.Use.Retries[try.Catch.RetryUse]
		}
		if policy == nil {
			return
		}
		c.retryDurations(policy)
		inner := c.inside(outer, try.Timeout)
		if limit, known := literal(policy.LimitDuration); known && limit > 0 && (inner.limit == 0 || limit < inner.limit) {
			inner.limit, inner.at = limit, policy.Pointer.Key("limit").Key("duration")
		}
		if policy.AttemptCount == nil && policy.LimitDuration == nil && !inner.bounded {
			c.add(Diagnostic{Code: "SW306", Pointer: try.Catch.Pointer.Key("retry"), Range: c.w.Source.Key(try.Catch.Pointer.Key("retry")),
				Message: "nothing ends these retries", Help: "give the policy a limit, or put a timeout around the try"})
		}
		c.plan(try, policy, inner)
	})
}

func (c *checker) retryDurations(policy *RetryPolicy) {
	from, knownFrom := literal(policy.JitterFrom)
	to, knownTo := literal(policy.JitterTo)
	if knownFrom && knownTo && from > to {
		c.add(Diagnostic{Code: "SW308", Pointer: policy.JitterFrom.Pointer, Message: fmt.Sprintf("the jitter goes from %s down to %s", from, to)})
	}
	delay, knownDelay := literal(policy.Delay)
	limit, knownLimit := literal(policy.LimitDuration)
	if knownDelay && knownLimit && limit > 0 && delay >= limit {
		c.add(Diagnostic{Code: "SW308", Pointer: policy.Delay.Pointer, Message: fmt.Sprintf("the delay of %s is not shorter than the limit of %s for all attempts", delay, limit)})
	}
}

// plan adds up the delays of a policy and compares them with the time there is.
func (c *checker) plan(try *TryTask, policy *RetryPolicy, s scope) {
	delay, known := literal(policy.Delay)
	if !known || policy.AttemptCount == nil || s.limit == 0 || delay == 0 {
		return
	}
	var sum time.Duration
	delays := ""
	for n := 1; n <= min(*policy.AttemptCount, 60); n++ {
		next := delay
		switch policy.Backoff {
		case "linear":
			next = delay * time.Duration(n)
		case "exponential":
			next = delay << min(n, 30)
		}
		if n <= 5 {
			delays += fmt.Sprintf("+%s", next)
		}
		if sum += next; sum >= s.limit {
			c.add(Diagnostic{
				Code: "SW305", Pointer: try.Catch.Pointer.Key("retry"), Range: c.w.Source.Key(try.Catch.Pointer.Key("retry")),
				Message: fmt.Sprintf("of %d retries at most %d can start within %s: the delays are %s", *policy.AttemptCount, n-1, s.limit, delays[1:]),
				Related: []Related{{c.w.Source.Key(s.at), "the limit"}},
			})
			return
		}
	}
}
