package dsl

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// KindCallActivity is the kind of CallActivity.
const KindCallActivity Kind = "call_activity"

// CallActivity lets an outside worker perform an activity, which the worker fetches from a server.
type CallActivity struct {
	TaskBase
	Type     Value // text: the type that workers register
	Queue    Value // text: the queue from which workers fetch it; the task's queue if it is absent
	Input    Value // the task's transformed input if it is absent
	Timeouts ActivityTimeouts
	Retry    *ActivityRetry // nil for a single attempt
}

// ActivityTimeouts are the four timeouts of an activity, each of which may be absent (promises 26 to 41).
type ActivityTimeouts struct {
	ScheduleToStart *Duration // maximum wait of each attempt for a worker
	StartToClose    *Duration // maximum duration of each attempt
	ScheduleToClose *Duration // maximum duration of all attempts, with the delays between them
	Heartbeat       *Duration // maximum time between two signs of life of a worker
}

// ActivityRetry specifies the number of attempts of an activity, and the delays between them.
type ActivityRetry struct {
	Pointer      Pointer
	MaxAttempts  int         // 0 for any number
	Delays       []*Duration // before the second attempt, the third, ...; the last delay applies to all further attempts; nil if the delays grow
	Initial      *Duration   // before the second attempt; nil for a second
	Factor       float64     // ratio of each delay to the delay before
	Max          *Duration   // nil for two minutes
	NonRetryable []string    // types of errors, or short names of standard ones
}

// The defaults of growing delays (promises 81).
const (
	DefaultInitialDelay = time.Second
	DefaultMaxDelay     = 2 * time.Minute
)

// Kind returns KindCallActivity.
func (*CallActivity) Kind() Kind { return KindCallActivity }

// Traits returns the traits of a call that a server answers: a worker reports any error, and may change anything.
func (t *CallActivity) Traits() Traits {
	return Traits{Group: "call", Unbounded: !t.Timeouts.bounded(), SendsInput: true, ChangesOutside: true, AnyErrors: true, Performed: true, Outside: true, Timeouts: t.Timeouts.inner(),
		Retry: InnerRetry{t.Retry, t.Timeouts.ScheduleToClose}}
}

// inner returns the timeouts, each with the timeouts that contain it.
func (t ActivityTimeouts) inner() []InnerTimeout {
	whole := []*Duration{t.ScheduleToClose}
	return []InnerTimeout{
		{t.ScheduleToClose, nil}, {t.ScheduleToStart, whole}, {t.StartToClose, whole}, {t.Heartbeat, []*Duration{t.ScheduleToClose, t.StartToClose}},
	}
}

// bounded reports whether the activity is sure to end, even if its worker is lost.
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
	t := &CallActivity{TaskBase: base, Type: o.checkedText("type", CheckActivityType), Queue: o.checkedText("queue", CheckQueue), Input: o.dataValue("input")}
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
	const none = "no timeout"
	return ActivityTimeouts{
		ScheduleToStart: o.positive("scheduleToStart", none), StartToClose: o.positive("startToClose", none),
		ScheduleToClose: o.positive("scheduleToClose", none), Heartbeat: o.positive("heartbeat", none),
	}
}

// positive decodes a duration above zero; otherwise describes the default for the message.
func (o *object) positive(name, otherwise string) *Duration {
	d := o.duration(name)
	if d != nil && !d.broken && d.IsZero() {
		o.report("SW123", name, fmt.Sprintf("`%s` must be longer than nothing: leave it out for %s", name, otherwise))
	}
	return d
}

func (p *parser) activityRetry(n *yaml.Node, at Pointer) *ActivityRetry {
	o := p.object(n, at, "`retry`", "maxAttempts", "backoff", "nonRetryable")
	r := &ActivityRetry{Pointer: at, NonRetryable: o.texts("nonRetryable"), Factor: 2}
	backoff := o.value("backoff")
	switch {
	case backoff == nil && o.misspelt["backoff"]: // a misspelt `backoff` may be a list
	case backoff == nil:
		o.require("maxAttempts")
	case backoff.Kind == yaml.SequenceNode:
		r.Delays = o.durations("backoff")
		r.MaxAttempts = len(r.Delays) + 1
	case backoff.Kind == yaml.MappingNode:
		o.require("maxAttempts")
		p.growing(r, backoff, at.Key("backoff"))
	default:
		p.singleBackoff(backoff, at.Key("backoff"))
	}
	if count := o.count("maxAttempts"); count != nil {
		r.MaxAttempts = *count
	}
	return r
}

// singleBackoff reports one value in the place of a backoff, which is a list or an object.
func (p *parser) singleBackoff(n *yaml.Node, at Pointer) {
	delay := "PT5S"
	if _, err := ParseDuration(n.Value); err == nil {
		delay = n.Value
	}
	p.add(Diagnostic{Code: "SW108", Message: "`backoff` must be a list of delays, or an object, got " + source.Describe(n), Pointer: at, Range: p.src.RangeOf(n),
		Help: fmt.Sprintf("write `[%[1]s]` for delays as listed, or `{ initial: %[1]s }` with `maxAttempts` for delays that grow", delay)})
}

// growing decodes a backoff whose delays grow.
func (p *parser) growing(r *ActivityRetry, n *yaml.Node, at Pointer) {
	o := p.object(n, at, "`backoff`", "initial", "factor", "max")
	r.Initial, r.Max = o.positive("initial", "a second"), o.positive("max", "two minutes")
	if factor, ok := o.number("factor"); ok {
		if r.Factor = factor; factor < 1 || factor > maxFactor {
			o.report("SW123", "factor", fmt.Sprintf("`factor` must be from 1 to %d, got %v", maxFactor, factor))
		}
	}
}

// maxFactor is the maximum ratio of a delay to the delay before.
const maxFactor = 1000

// DefaultQueue is the queue of an activity that names no queue.
const DefaultQueue = "default"

// queueName matches the name of a queue, which is part of keys of stores, of URLs and of command lines.
var queueName = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$`)

// CheckQueue returns the fault of the name of a queue.
func CheckQueue(name string) error {
	if !queueName().MatchString(name) {
		return fmt.Errorf("a queue is named by at most 128 letters and digits, with . _ - inside, got %s", shorten.Quoted(name))
	}
	return nil
}

// maxActivityType is the maximum length of the type of an activity, in characters.
const maxActivityType = 256

// CheckActivityType returns the fault of the type of an activity.
func CheckActivityType(kind string) error {
	if utf8.RuneCountInString(kind) > maxActivityType || strings.ContainsFunc(kind, unicode.IsControl) {
		return fmt.Errorf("the type of an activity is at most %d characters, without line breaks and other control characters, got %s", maxActivityType, shorten.Quoted(kind))
	}
	return nil
}

// checkedText decodes text that has rules of its own, or an expression that yields it.
func (o *object) checkedText(name string, check func(string) error) Value {
	n := o.value(name)
	v := o.textValue(name)
	if n == nil || v.Data == nil || !source.IsText(n) || strings.TrimSpace(n.Value) == "" || delimited.Is(n.Value) {
		return v
	}
	if err := check(n.Value); err != nil {
		o.report("SW112", name, err.Error())
	}
	return v
}
