package dsl

import (
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// TaskEngine is what a task asks of the engine that hosts it, under metadata.swrun: the DSL has no word for it, and
// other engines ignore it.
type TaskEngine struct {
	// AtMostOnce: the effect of the task must not be repeated when it is not known whether it happened (delivery: at-most-once).
	AtMostOnce bool
	// ParentClose says what happens to a child workflow when its parent ends first: cancel (also if empty), terminate or
	// abandon.
	ParentClose string
	// Queue is the task queue from which workers take the task, and those inside it; empty for that of what is around it.
	Queue string
	// SoftDeadline is after how long the task is late. It goes on all the same.
	SoftDeadline *Duration
	// BackoffList is how long a try waits before each retry, the last one also before those that follow. It takes the place of the
	// delay and the backoff of its policy.
	BackoffList []*Duration
}

// WorkflowEngine is what a document asks of the engine, under metadata.swrun of the document.
type WorkflowEngine struct {
	RunTimeout   *Duration // of one run; the document's timeout is for the whole execution
	SoftDeadline *Duration // after how long a run is late; it goes on all the same
	Queue        string    // of its tasks that name none; empty for the default queue
	Schedule     ScheduleEngine
}

// ScheduleEngine is what a document asks of the engine about its schedule, under metadata.swrun.schedule.
type ScheduleEngine struct {
	TimeZone string // of cron; empty for UTC
	Missed   string // what becomes of times that have passed while nobody was there: one of the values below, or empty for MissedLatest
	Max      int    // of MissedAll: how many of them, the last ones; 0 for DefaultMaxMissed
}

// The values of ScheduleEngine.Missed.
const (
	MissedSkip   = "skip"   // no run
	MissedLatest = "latest" // one, for the last of them
	MissedAll    = "all"    // one for each
)

// The bounds of ScheduleEngine.Max.
const (
	DefaultMaxMissed = 100
	MaxMissed        = 1000
)

// Kept returns for how many of the times that have passed there are runs at most.
func (s ScheduleEngine) Kept() int {
	if s.Missed == MissedAll {
		return cmp.Or(s.Max, DefaultMaxMissed)
	}
	return 1
}

// The values of TaskEngine.ParentClose.
const (
	ParentCloseCancel    = "cancel"
	ParentCloseTerminate = "terminate"
	ParentCloseAbandon   = "abandon"
)

// engine returns the object metadata.swrun, or nil.
func (o *object) engine(what string, allowed ...string) *object {
	metadata := o.value("metadata")
	if metadata == nil || metadata.Kind != yaml.MappingNode {
		return nil
	}
	_, n := source.Child(metadata, "swrun")
	if n == nil {
		return nil
	}
	return o.p.object(n, o.at.Key("metadata").Key("swrun"), what, allowed...)
}

func (o *object) taskEngine() (e TaskEngine) {
	if options := o.engine("`swrun` in a task's metadata", "delivery", "parentClose", "queue", "softDeadline", "backoffList"); options != nil {
		e.AtMostOnce = options.enum("delivery", "at-least-once", "at-most-once") == "at-most-once"
		e.ParentClose = options.enum("parentClose", ParentCloseCancel, ParentCloseTerminate, ParentCloseAbandon)
		e.SoftDeadline = options.fixedDuration("softDeadline")
		e.BackoffList = options.fixedDurations("backoffList")
		e.Queue = options.taskQueue()
	}
	return e
}

// fixedDurations decodes a list of at least one duration, none of which is an expression.
func (o *object) fixedDurations(name string) (all []*Duration) {
	for i, d := range o.durations(name) {
		if o.p.isFixed(d, o.value(name).Content[i], name) {
			all = append(all, d)
		}
	}
	return all
}

// taskQueue decodes the name of a task queue; null names none.
func (o *object) taskQueue() string {
	n := o.value("queue")
	if n == nil || source.IsNull(n) {
		return ""
	}
	name := o.text("queue")
	if name == "" {
		return ""
	}
	if err := CheckQueue(name); err != nil {
		o.p.add(Diagnostic{Code: "SW112", Message: "`queue`: " + err.Error(), Pointer: o.at.Key("queue"), Range: o.p.src.RangeOf(n)})
	}
	return name
}

func (o *object) workflowEngine() (e WorkflowEngine) {
	if options := o.engine("`swrun` in the document's metadata", "queue", "runTimeout", "softDeadline", "schedule"); options != nil {
		e.Schedule = options.scheduleEngine()
		e.Queue = options.taskQueue()
		e.RunTimeout, e.SoftDeadline = options.fixedDuration("runTimeout"), options.fixedDuration("softDeadline")
	}
	return e
}

// scheduleEngine decodes what is asked about a schedule.
func (o *object) scheduleEngine() (s ScheduleEngine) {
	n := o.value("schedule")
	if n == nil {
		return s
	}
	options := o.p.object(n, o.at.Key("schedule"), "`swrun.schedule` in the document's metadata", "timeZone", "missed", "max")
	if options.broken {
		return s
	}
	s.Missed = options.enum("missed", MissedLatest, MissedSkip, MissedAll)
	if n := options.count("max"); n != nil {
		if s.Max = *n; s.Max < 1 || s.Max > MaxMissed {
			options.report("SW123", "max", fmt.Sprintf("`max` must be from 1 to %d, got %d", MaxMissed, s.Max))
		}
	}
	s.TimeZone = options.text("timeZone")
	return s
}

// fixedDuration decodes a duration that is no expression and longer than nothing; nil if it is absent or wrong.
func (o *object) fixedDuration(name string) *Duration {
	d := o.duration(name)
	if d == nil {
		return nil
	}
	n := o.value(name)
	switch {
	case !o.p.isFixed(d, n, name):
		return nil
	case *d == Duration{Pointer: d.Pointer}:
		o.p.add(Diagnostic{Code: "SW110", Message: fmt.Sprintf("`%s` must be longer than nothing", name), Pointer: d.Pointer, Range: o.p.src.RangeOf(n), Help: helpDuration})
		return nil
	}
	return d
}

const helpDuration = "write an object such as {minutes: 2}, or ISO 8601 such as PT2M"

// isFixed reports whether a duration is right and no expression, which is reported.
func (p *parser) isFixed(d *Duration, n *yaml.Node, name string) bool {
	if d.Expression != "" {
		p.add(Diagnostic{Code: "SW110", Message: fmt.Sprintf("`%s` is not evaluated, and must be a duration", name), Pointer: d.Pointer, Range: p.src.RangeOf(n), Help: helpDuration})
	}
	return !d.broken && d.Expression == ""
}
