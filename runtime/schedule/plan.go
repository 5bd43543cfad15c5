package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/cron"
	"github.com/swrun/swrun/runtime/definition"
)

// plan is the schedule in the document of a workflow.
type plan struct {
	workflow definition.Reference
	digest   string
	timers   []plannedTimer
	options  dsl.ScheduleEngine
	trigger  *trigger // nil if events start nothing
}

// isEmpty reports whether nothing is scheduled.
func (p *plan) isEmpty() bool { return len(p.timers) == 0 && p.trigger == nil }

// on returns the specification of the events that start runs, and of their groups; empty without events.
func (p *plan) on() string {
	if p.trigger == nil {
		return ""
	}
	return p.trigger.text
}

// plannedTimer is a timer of a document.
type plannedTimer struct {
	kind  Kind
	text  string
	every dsl.Duration    // of every and after
	cron  cron.Expression // of cron
}

// newPlan returns the plan of a workflow; one without timers and events if it has no schedule.
func newPlan(w *dsl.Workflow, r definition.Reference, digest string, compile definition.Compile) (*plan, error) {
	p := &plan{workflow: r, digest: digest, options: w.Document.Engine.Schedule}
	s := w.Schedule
	if s == nil {
		return p, nil
	}
	if s.On != nil {
		var err error
		if p.trigger, err = newTrigger(w, compile); err != nil {
			return nil, fmt.Errorf("the events of the schedule: %w", err)
		}
	}
	if s.Every != nil {
		p.timers = append(p.timers, plannedTimer{kind: KindEvery, text: s.Every.String(), every: *s.Every})
	}
	if s.Cron != "" {
		zone := cmp.Or(w.Document.Engine.Schedule.TimeZone, "UTC")
		in, err := time.LoadLocation(zone)
		if err != nil {
			return nil, fmt.Errorf("the time zone of the schedule: %w", err)
		}
		expression, err := cron.Parse(s.Cron, in)
		if err != nil {
			return nil, fmt.Errorf("the schedule's cron expression: %w", err)
		}
		p.timers = append(p.timers, plannedTimer{kind: KindCron, text: s.Cron + " " + zone, cron: expression})
	}
	if s.After != nil {
		p.timers = append(p.timers, plannedTimer{kind: KindAfter, text: s.After.String(), every: *s.After})
	}
	return p, nil
}

// timer returns the planned timer for a timer; nil if the plan has no such timer.
func (p *plan) timer(t *Timer) *plannedTimer {
	i := slices.IndexFunc(p.timers, func(planned plannedTimer) bool { return planned.kind == t.Kind && planned.text == t.Text })
	if i < 0 {
		return nil
	}
	return &p.timers[i]
}

// begin returns the timer as it is when the workflow is deployed.
func (p *plannedTimer) begin(now time.Time) Timer {
	t := Timer{Kind: p.kind, Text: p.text, Base: now}
	if t.Next = p.times(&t).next(now); p.kind == KindAfter {
		t.Next = p.every.AddTo(now)
	}
	return t
}

// times returns when runs start. Of `after`, they are those after the base, of which only the first is used.
func (p *plannedTimer) times(t *Timer) times {
	if p.kind == KindCron {
		return calendar{p.cron}
	}
	return intervals{t.Base, p.every}
}

// ended returns when the next run of `after` starts, after a run ended: not earlier than the shortest interval after its start.
func (p *plannedTimer) ended(t *Timer, at time.Time) time.Time {
	next := p.every.AddTo(at)
	if soonest := t.Base.Add(dsl.MinInterval); next.Before(soonest) {
		return soonest
	}
	return next
}

// due returns the passed times for which runs are started, and the number of missed times. The timer continues with the next time.
func (p *plannedTimer) due(t *Timer, o dsl.ScheduleEngine, now time.Time) (due []time.Time, missed int) {
	if p.kind == KindAfter {
		at := t.Next
		t.Base, t.Next = now, time.Time{} // it follows from the end of the run
		return []time.Time{at}, 0
	}
	all := p.times(t)
	due, missed = passed(all, t.Next, now, o.Kept())
	t.Next = all.next(now)
	if o.Missed == dsl.MissedSkip && now.Sub(due[len(due)-1]) >= late {
		due, missed = nil, missed+len(due)
	}
	return due, missed
}

// late is after how long a time that has passed counts as missed where missed ones are skipped.
const late = time.Minute
