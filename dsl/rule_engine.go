package dsl

import "github.com/swrun/swrun/dsl/source"

// checkEngine: SW312, members of metadata.swrun where they have no effect. For backoffList see SW310.
func checkEngine(c *checker) {
	Walk(c.w, func(t Task) bool {
		is := t.Traits()
		at := t.Base().Pointer.Key("metadata").Key("swrun")
		switch {
		case is.Outside:
			c.idle(at.Key("delivery"), "an activity is attempted as often as its `retry` says", "write `with: { retry: { maxAttempts: 1 } }`, which is the default")
		case !is.Performed:
			c.idle(at.Key("delivery"), "this task is no call, command, script or container", "put it on the tasks that are")
		}
		if !is.RunsWorkflow {
			c.idle(at.Key("parentClose"), "this task runs no workflow", "put it on the task with `run: workflow`")
		}
		if !isPerformed(t) {
			c.idle(at.Key("queue"), "no worker performs this task, or one inside it", "put it on a call, command, script, container or activity, or on a task around one")
		}
		if is.Instant {
			c.idle(at.Key("softDeadline"), "this task takes no time", "put it on a task that waits or calls, or on the tasks around it")
		}
		return true
	})
	c.idleSchedule()
}

// isPerformed reports whether a worker performs a task, or a task inside it. It does not look into functions.
func isPerformed(t Task) bool {
	if is := t.Traits(); is.Performed || is.Function != "" {
		return true
	}
	for _, l := range Lists(t) {
		for _, inner := range l {
			if isPerformed(inner) {
				return true
			}
		}
	}
	return false
}

// idleSchedule reports members of metadata.swrun of the document that are about a schedule that does not exist, or about another kind of schedule.
func (c *checker) idleSchedule() {
	const at = Pointer("/document/metadata/swrun/schedule")
	s := c.w.Schedule
	if s == nil {
		c.idle(at, "the document has no `schedule`", "leave it out, or add `schedule` beside `do`")
		return
	}
	if s.Cron == "" {
		c.idle(at.Key("timeZone"), "the schedule has no `cron`", "leave it out")
	}
	if s.Cron == "" && s.Every == nil {
		c.idle(at.Key("missed"), "the schedule has neither `every` nor `cron`", "leave it out")
	}
	if c.w.Document.Engine.Schedule.Missed != MissedAll {
		c.idle(at.Key("max"), "`missed` is not `all`", "add `missed: all`")
	}
}

// idle reports a member of metadata.swrun, if it is present, with the reason why it has no effect.
func (c *checker) idle(at Pointer, why, help string) {
	key, value, exact := c.w.Source.find(at)
	if !exact || value == nil || source.IsNull(value) {
		return
	}
	name := at.Tokens()[len(at.Tokens())-1]
	c.add(Diagnostic{Code: "SW312", Pointer: at, Range: c.w.Source.RangeOf(key), Message: "`" + name + "` has no effect: " + why, Help: help})
}
