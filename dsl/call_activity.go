package dsl

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// KindCallActivity is the kind of CallActivity.
const KindCallActivity Kind = "call_activity"

// CallActivity has an outside worker do something: an activity, which the worker fetches from a server.
type CallActivity struct {
	TaskBase
	Type     Value // text: what workers register
	Queue    Value // text: the queue from which workers fetch it; if it is absent, that of the task
	Input    Value // the task's transformed input if it is absent
	Timeouts ActivityTimeouts
	Retry    *ActivityRetry // nil for a single attempt
}

// ActivityTimeouts are the four timeouts of an activity, each of which may be absent (promises 26 to 41).
type ActivityTimeouts struct {
	ScheduleToStart *Duration // how long each attempt may wait for a worker
	StartToClose    *Duration // how long each attempt may take
	ScheduleToClose *Duration // how long all attempts may take, with what lies between them
	Heartbeat       *Duration // how long a worker may be silent
}

// ActivityRetry says how often an activity is attempted, and what lies between attempts.
type ActivityRetry struct {
	MaxAttempts  int         // 0 for any number
	Delays       []*Duration // before the second attempt, the third, ...; the last one before all others; nil if they grow
	Initial      *Duration   // before the second attempt; nil for a second
	Factor       float64     // by which each delay is longer than the one before
	Max          *Duration   // nil for two minutes
	NonRetryable []string    // types of errors
}

// Kind returns KindCallActivity.
func (*CallActivity) Kind() Kind { return KindCallActivity }

// Traits are those of a call that a server answers: a worker reports whatever error it likes, and may change anything.
func (t *CallActivity) Traits() Traits {
	return Traits{Group: "call", Unbounded: !t.Timeouts.bounded(), SendsInput: true, ChangesOutside: true, AnyErrors: true, Timeouts: t.Timeouts.inner()}
}

// inner returns the timeouts, each with those in which it lies.
func (t ActivityTimeouts) inner() []InnerTimeout {
	whole := []*Duration{t.ScheduleToClose}
	return []InnerTimeout{
		{t.ScheduleToClose, nil}, {t.ScheduleToStart, whole}, {t.StartToClose, whole}, {t.Heartbeat, []*Duration{t.ScheduleToClose, t.StartToClose}},
	}
}

// bounded reports whether the activity ends at some time, also if its worker is lost.
func (t ActivityTimeouts) bounded() bool {
	return t.ScheduleToClose != nil || t.ScheduleToStart != nil && (t.StartToClose != nil || t.Heartbeat != nil)
}

func (t *CallActivity) parts(w *walker) {
	w.value(propertyCall, t.Type, t.Queue, t.Input)
	w.durations(t.Timeouts.ScheduleToStart, t.Timeouts.StartToClose, t.Timeouts.ScheduleToClose, t.Timeouts.Heartbeat)
	if t.Retry != nil {
		w.durations(t.Retry.Delays...)
		w.durations(t.Retry.Initial, t.Retry.Max)
	}
}

func parseCallActivity(p *parser, o *object, base TaskBase) Task {
	o.allow("type", "queue", "input", "timeouts", "retry")
	o.require("type")
	t := &CallActivity{TaskBase: base, Type: o.textValue("type"), Queue: o.queue("queue"), Input: o.dataValue("input")}
	if n := o.value("timeouts"); n != nil {
		t.Timeouts = p.activityTimeouts(n, o.at.Key("timeouts"))
	}
	if n := o.value("retry"); n != nil {
		t.Retry = p.activityRetry(n, o.at.Key("retry"))
	}
	return t
}

func (p *parser) activityTimeouts(n *yaml.Node, at Pointer) ActivityTimeouts {
	o := p.object(n, at, "`timeouts`", "scheduleToStart", "startToClose", "scheduleToClose", "heartbeat")
	return ActivityTimeouts{
		ScheduleToStart: o.positive("scheduleToStart"), StartToClose: o.positive("startToClose"),
		ScheduleToClose: o.positive("scheduleToClose"), Heartbeat: o.positive("heartbeat"),
	}
}

// positive decodes a duration that is longer than nothing.
func (o *object) positive(name string) *Duration {
	d := o.duration(name)
	if d != nil && !d.broken && d.IsZero() {
		o.report("SW123", name, fmt.Sprintf("`%s` must be longer than nothing: leave it out for no timeout", name))
	}
	return d
}

func (p *parser) activityRetry(n *yaml.Node, at Pointer) *ActivityRetry {
	o := p.object(n, at, "`retry`", "maxAttempts", "backoff", "nonRetryable")
	r := &ActivityRetry{NonRetryable: o.texts("nonRetryable"), Factor: 2}
	backoff := o.value("backoff")
	if backoff != nil && backoff.Kind == yaml.SequenceNode {
		r.Delays = o.durations("backoff")
		r.MaxAttempts = len(r.Delays) + 1
	} else {
		if !o.misspelt["backoff"] { // which may be a list
			o.require("maxAttempts")
		}
		if backoff != nil {
			p.growing(r, backoff, at.Key("backoff"))
		}
	}
	if count := o.count("maxAttempts"); count != nil {
		r.MaxAttempts = *count
	}
	return r
}

// growing decodes a backoff whose delays grow.
func (p *parser) growing(r *ActivityRetry, n *yaml.Node, at Pointer) {
	o := p.object(n, at, "`backoff`", "initial", "factor", "max")
	r.Initial, r.Max = o.positive("initial"), o.positive("max")
	if factor, ok := o.number("factor"); ok {
		if r.Factor = factor; factor < 1 || factor > maxFactor {
			o.report("SW123", "factor", fmt.Sprintf("`factor` must be from 1 to %d, got %v", maxFactor, factor))
		}
	}
}

// maxFactor is by how much a delay may be longer than the one before.
const maxFactor = 1000

// DefaultQueue is where workers fetch an activity that names no queue.
const DefaultQueue = "default"

// queueName is what a queue may be called: it stands in keys of stores, in URLs and on command lines.
var queueName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$`)

// CheckQueue reports what is wrong with the name of a queue.
func CheckQueue(name string) error {
	if !queueName.MatchString(name) {
		return fmt.Errorf("a queue is named by at most 128 letters and digits, with . _ - inside, got %s", shorten.Quoted(name))
	}
	return nil
}

// queue decodes the name of a queue, or an expression that yields one.
func (o *object) queue(name string) Value {
	n := o.value(name)
	v := o.textValue(name)
	if n == nil || v.Data == nil || !source.IsText(n) || strings.TrimSpace(n.Value) == "" || delimited.Is(n.Value) {
		return v
	}
	if err := CheckQueue(n.Value); err != nil {
		o.report("SW112", name, err.Error())
	}
	return v
}
