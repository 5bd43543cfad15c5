package dsl

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// scope is the bound of a task by the timeouts around it.
type scope struct {
	limit   time.Duration // the shortest limit; 0 is no limit
	at      Pointer       // of the shortest limit
	bounded bool          // there is a timeout around it, of known length or not
}

// knownLength returns the length of a duration if it is known before a run. A year counts as 365 days, a month as 30.
func knownLength(d *Duration) (length time.Duration, known bool) {
	if d == nil || d.Expression != "" || d.broken {
		return 0, false
	}
	const day = 24 * time.Hour
	return d.Exact + time.Duration(d.Years)*365*day + time.Duration(d.Months)*30*day, true
}

// inside returns the scope inside a timeout.
func (c *checker) inside(outer scope, t *Timeout) scope {
	after := c.w.TimeoutAfter(t)
	if t == nil {
		return outer
	}
	inner := scope{limit: outer.limit, at: outer.at, bounded: true}
	if limit, known := knownLength(after); known && (inner.limit == 0 || limit < inner.limit) {
		inner.limit, inner.at = limit, t.Pointer
	}
	return inner
}

// checkTimes: SW301 timeouts that never fire first, SW302 scopes that always time out, SW308 timeouts that are too short.
func checkTimes(c *checker) {
	if limit, known := knownLength(c.w.TimeoutAfter(c.w.Timeout)); known {
		c.reportShortTimeout(limit, c.w.Timeout.Pointer)
		c.reportAlwaysTimesOut(limit, c.minDurationOfList(c.w.Do), c.w.Timeout.Pointer, "the workflow")
	}
	whole, engine := c.inside(scope{}, c.w.Timeout), c.w.Document.Engine
	c.reportNeverFirst(engine.RunTimeout, whole, "this run timeout")
	if run, known := knownLength(engine.RunTimeout); known && (whole.limit == 0 || run < whole.limit) {
		whole.limit, whole.at = run, engine.RunTimeout.Pointer
	}
	c.reportNeverFirst(engine.SoftDeadline, whole, "this soft deadline")
	c.walkScopes(func(t Task, outer scope) {
		timeout := t.Base().Timeout
		c.reportNeverFirst(t.Base().Engine.SoftDeadline, c.inside(outer, timeout), "this soft deadline")
		c.reportInnerTimeouts(t, c.inside(outer, timeout))
		limit, known := knownLength(c.w.TimeoutAfter(timeout))
		if !known {
			return
		}
		c.reportNeverFires(limit, timeout.Pointer, outer, "this timeout")
		c.reportShortTimeout(limit, timeout.Pointer)
		c.reportAlwaysTimesOut(limit, c.minDuration(t), timeout.Pointer, fmt.Sprintf("`%s`", t.Base().Name))
	})
}

// reportInnerTimeouts reports the timeouts of parts of a task that are not shorter than the timeouts around them.
func (c *checker) reportInnerTimeouts(t Task, s scope) {
	for _, inner := range t.Traits().Timeouts {
		around := s
		for _, d := range inner.Within {
			around = around.limitedBy(d)
		}
		c.reportNeverFirst(inner.Timeout, around, "this timeout")
	}
}

// reportNeverFirst reports a bound that is not shorter than the timeout that ends its scope. A nil bound is not reported.
func (c *checker) reportNeverFirst(bound *Duration, s scope, what string) {
	if limit, known := knownLength(bound); known {
		c.reportNeverFires(limit, bound.Pointer, s, what)
	}
}

func (c *checker) reportNeverFires(limit time.Duration, at Pointer, outer scope, what string) {
	if outer.limit > 0 && limit >= outer.limit {
		c.add(Diagnostic{
			Code: "SW301", Pointer: at,
			Message: fmt.Sprintf("%s of %s never fires: one of %s around it comes first", what, duration.Format(limit), duration.Format(outer.limit)),
			Related: related(c.w.Source.Key(outer.at), "the one around it"),
		})
	}
}

func (c *checker) reportAlwaysTimesOut(limit, least time.Duration, at Pointer, what string) {
	if limit > 0 && least >= limit {
		c.add(Diagnostic{Code: "SW302", Pointer: at,
			Message: fmt.Sprintf("%s always times out: its waits alone take %s, and the timeout is %s", what, duration.Format(least), duration.Format(limit))})
	}
}

// reportShortTimeout reports a timeout that leaves no time to do anything.
func (c *checker) reportShortTimeout(limit time.Duration, at Pointer) {
	switch {
	case limit == 0:
		c.add(Diagnostic{Code: "SW308", Pointer: at, Message: "a timeout of zero fires at once"})
	case limit < 100*time.Millisecond:
		c.add(Diagnostic{Code: "SW308", Pointer: at, Message: fmt.Sprintf("a timeout of %s is shorter than most calls and commits take", duration.Format(limit)),
			Help: "a timeout has at least 100 milliseconds to be of use"})
	}
}
