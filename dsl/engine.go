package dsl

import (
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// TaskEngine contains the options of a task for the engine, under metadata.swrun: the DSL has no word for them, and other engines ignore them.
type TaskEngine struct {
	// AtMostOnce: the effect of the task must not be repeated if its outcome is unknown (delivery: at-most-once).
	AtMostOnce bool
	// ParentClose specifies the fate of a child workflow when its parent ends first: cancel (also if empty), terminate or abandon.
	ParentClose string
	// Queue is the task queue from which workers take the task, and the tasks inside it; empty for the queue of the surrounding task or workflow.
	Queue string
	// SoftDeadline is the time after which the task is late. The task continues anyway.
	SoftDeadline *Duration
	// BackoffList is the delays of a try before each retry; the last delay also applies to all further retries. The list replaces the delay and the
	// backoff of the policy.
	BackoffList []*Duration
}

// WorkflowEngine contains the options of a document for the engine, under metadata.swrun of the document.
type WorkflowEngine struct {
	RunTimeout   *Duration // of one run; the document's timeout is for the whole execution
	SoftDeadline *Duration // time after which a run is late; the run continues anyway
	Queue        string    // of its tasks without a queue; empty for the default queue
	Schedule     ScheduleEngine
}

// ScheduleEngine contains the options of a schedule for the engine, under metadata.swrun.schedule.
type ScheduleEngine struct {
	TimeZone string // of cron; empty for UTC
	Missed   string // handling of times that passed while no server worked: one of the values below, or empty for MissedLatest
	Max      int    // for MissedAll: maximum number of runs, for the last times; 0 for DefaultMaxMissed
}

// The values of ScheduleEngine.Missed.
const (
	MissedSkip   = "skip"   // no run
	MissedLatest = "latest" // one, for the last time
	MissedAll    = "all"    // one for each time
)

// The bounds of ScheduleEngine.Max.
const (
	DefaultMaxMissed = 100
	MaxMissed        = 1000
)

// Kept returns the maximum number of runs for times that passed.
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

// taskQueue decodes the name of a task queue; null is no name.
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

// scheduleEngine decodes the options of a schedule.
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

// fixedDuration decodes a duration above zero that is no expression; nil if it is absent or wrong.
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

// isFixed reports whether a duration is valid and no expression, and adds a diagnostic otherwise.
func (p *parser) isFixed(d *Duration, n *yaml.Node, name string) bool {
	if d.Expression != "" {
		p.add(Diagnostic{Code: "SW110", Message: fmt.Sprintf("`%s` is not evaluated, and must be a duration", name), Pointer: d.Pointer, Range: p.src.RangeOf(n), Help: helpDuration})
	}
	return !d.broken && d.Expression == ""
}
