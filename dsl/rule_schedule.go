package dsl

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/internal/cron"
	"github.com/swrun/swrun/internal/shorten"
)

// checkCron: SW703, invalid cron expressions.
func checkCron(c *checker) {
	if c.w.Schedule == nil || c.w.Schedule.Cron == "" {
		return
	}
	if _, err := cron.Parse(c.w.Schedule.Cron, time.UTC); err != nil {
		const at = Pointer("/schedule/cron")
		c.add(Diagnostic{Code: "SW703", Pointer: at, Message: "`cron` is no cron expression: " + err.Error(), Help: cronElsewhere(c.w.Schedule.Cron)})
	}
}

// MinInterval is the minimum interval of a schedule.
const MinInterval = time.Second

// checkSchedule: SW704, schedules that start nothing, or too much, and unknown time zones.
func checkSchedule(c *checker) {
	if zone := c.w.Document.Engine.Schedule.TimeZone; zone != "" {
		if _, err := time.LoadLocation(zone); err != nil || zone == "Local" { // Local differs between machines
			const at = Pointer("/document/metadata/swrun/schedule/timeZone")
			c.add(Diagnostic{Code: "SW704", Pointer: at, Range: c.w.Source.Value(at), Message: "there is no time zone " + shorten.Quoted(zone), Help: "for example Europe/Paris"})
		}
	}
	s := c.w.Schedule
	if s == nil || slices.ContainsFunc(c.w.Source.errorPointers, func(at Pointer) bool { return within(at, "/schedule") }) {
		return
	}
	if s.Every == nil && s.Cron == "" && s.After == nil && s.On == nil {
		c.add(Diagnostic{Code: "SW704", Pointer: "/schedule", Range: c.w.Source.Key("/schedule"), Message: "the schedule says nothing of when runs start",
			Help: "add `every`, `cron`, `after` or `on`"})
	}
	if on := s.On; on != nil && on.Mode == "all" && len(on.Filters()) == 0 {
		at := on.Pointer.Key("all")
		c.add(Diagnostic{Code: "SW704", Pointer: at, Range: c.w.Source.Value(at), Message: "an empty `all` of a schedule never starts a run: no event is one of its filters'",
			Help: "name the events, or write `any: []` for every event"})
	}
	for name, d := range map[string]*Duration{"every": s.Every, "after": s.After} {
		if d != nil && d.Expression != "" {
			c.add(Diagnostic{Code: "SW704", Pointer: d.Pointer, Range: c.w.Source.Value(d.Pointer), Message: fmt.Sprintf("`%s` of a schedule is not evaluated, and must be a duration", name), Help: helpDuration})
		}
	}
	if e := s.Every; e != nil && e.Expression == "" && e.Years == 0 && e.Months == 0 && e.Exact < MinInterval {
		c.add(Diagnostic{Code: "SW704", Pointer: e.Pointer, Range: c.w.Source.Value(e.Pointer), Message: fmt.Sprintf("`every` must be at least %s, got %s", MinInterval, e.Exact),
			Help: "for shorter intervals, start one run that has a loop with a `wait`"})
	}
}

// checkScheduleParts: SW709, parts of a schedule that authors read as one rule, although each of them starts runs of its own (semantics 15.3).
func checkScheduleParts(c *checker) {
	s := c.w.Schedule
	if s == nil {
		return
	}
	others := map[string]string{ // the intention of an author who writes `after` beside another part
		"every": "keep one of them: `every` for a fixed rate, `after` for a pause after the end of each run",
		"cron":  "remove `after`; to begin later than `cron`, make `- pause: { wait: PT5M }` the first task, or change `cron`",
		"on":    "remove `after`; to act some time after the event, make `- pause: { wait: PT5M }` the first task",
	}
	present := map[string]bool{"every": s.Every != nil, "cron": s.Cron != "", "on": s.On != nil}
	first, second, help := "", "after", ""
	for _, name := range []string{"every", "cron", "on"} {
		if s.After != nil && present[name] {
			first, help = name, others[name]
			break
		}
	}
	if s.After == nil && s.Every != nil && s.Cron != "" {
		first, second = "every", "cron"
		help = "keep one of them; `cron: '*/15 9-17 * * MON-FRI'` starts a run every 15 minutes of working hours"
	}
	if first == "" {
		return
	}
	const at = Pointer("/schedule")
	c.add(Diagnostic{Code: "SW709", Pointer: at.Key(second), Range: c.w.Source.Key(at.Key(second)), Help: help,
		Message: fmt.Sprintf("`%s` and `%s` start runs independently of each other", first, second), Related: related(c.w.Source.Key(at.Key(first)), "the other part")})
}
