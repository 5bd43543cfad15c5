package tracing

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// span is a span of a run or of a task, built from the history. It contains no data of the workflow: no input, no output, no text of an error.
type span struct {
	name       string
	path       interpreter.Path // of the task's occurrence; empty for the run
	start, end time.Time
	attributes []attribute.KeyValue
	status     codes.Code
	because    string // the type of the error of a failed span
	events     []spanEvent
}

type spanEvent struct {
	name       string
	at         time.Time
	attributes []attribute.KeyValue
}

// progress is the known state of a run in progress.
type progress struct {
	instance store.Instance
	info     *execution.Invocation
	next     int // Seq of the next event
	run      span
	open     map[interpreter.Path]*span
}

func newProgress(i store.Instance, info *execution.Invocation) *progress {
	w := info.Workflow
	return &progress{instance: i, info: info, next: 1, open: map[interpreter.Path]*span{}, run: span{
		name: w.Namespace + "/" + w.Name,
		attributes: []attribute.KeyValue{
			attribute.String("swrun.namespace", i.Namespace), attribute.String("swrun.run", i.ID), attribute.String("swrun.workflow", w.Name),
			attribute.String("swrun.version", w.Version),
		},
	}}
}

// follow handles the next event of the run, and returns the spans that end with it.
func (p *progress) follow(e *interpreter.HistoryEvent) (ended []span) {
	p.next = e.Seq + 1
	switch e.Type {
	case interpreter.WorkflowStarted:
		p.run.start = e.At
	case interpreter.TaskStarted:
		p.open[e.Path] = &span{name: taskName(e), path: e.Path, start: e.At, attributes: []attribute.KeyValue{
			attribute.String("swrun.run", p.instance.ID), attribute.String("swrun.task", string(e.Pointer)), attribute.String("swrun.path", string(e.Path)),
			attribute.String("swrun.kind", string(e.Kind)),
		}}
	case interpreter.TaskCompleted, interpreter.TaskFaulted, interpreter.TaskCancelled:
		if s := p.open[e.Path]; s != nil {
			delete(p.open, e.Path)
			s.finish(e)
			ended = append(ended, *s)
		}
	case interpreter.WorkflowCompleted, interpreter.WorkflowFaulted, interpreter.WorkflowCancelled:
		p.run.finish(e)
		if p.run.start.IsZero() { // the run never started
			p.run.start = e.At
		}
		ended = append(ended, p.run)
	default:
		p.note(e)
	}
	return ended
}

// note adds an event to the span of its task.
func (p *progress) note(e *interpreter.HistoryEvent) {
	s := &p.run
	if task := p.open[e.Path]; task != nil {
		s = task
	}
	switch e.Type {
	case interpreter.EffectStarted, interpreter.EffectFinished, interpreter.TaskSkipped, interpreter.TaskWaiting:
		return // the span contains the same information
	}
	if len(s.events) >= maxEvents {
		return
	}
	noted := spanEvent{name: string(e.Type), at: e.At}
	if e.Attempt > 0 {
		noted.attributes = append(noted.attributes, attribute.Int("swrun.attempt", e.Attempt))
	}
	if e.Actor != "" {
		noted.attributes = append(noted.attributes, attribute.String("swrun.actor", e.Actor))
	}
	if e.Error != nil {
		noted.attributes = append(append(noted.attributes, attribute.String("error.type", errorType(e.Error))), called(e.Error)...)
	}
	s.events = append(s.events, noted)
}

// maxEvents is the maximum number of events of a span: a loop that is retried for days has many.
const maxEvents = 128

func (s *span) finish(e *interpreter.HistoryEvent) {
	s.end = e.At
	switch e.Type {
	case interpreter.TaskFaulted, interpreter.WorkflowFaulted:
		s.status, s.because = codes.Error, errorType(e.Error)
		s.attributes = append(append(s.attributes, attribute.String("error.type", s.because)), called(e.Error)...)
		if e.Timeout != "" {
			s.attributes = append(s.attributes, attribute.String("swrun.timeout_kind", e.Timeout))
		}
	case interpreter.TaskCancelled, interpreter.WorkflowCancelled:
		s.attributes = append(s.attributes, attribute.Bool("swrun.cancelled", true))
	}
}

// errorType returns the type of an error in a span: the short name of a standard error, or "application". Its other members are data of the workflow.
func errorType(e *errors.Error) string {
	if e == nil {
		return ""
	}
	if name := errors.StandardName(e.Type); name != "" {
		return name
	}
	return "application"
}

// called returns the attributes of the failed call: its address, without user and query, under the names of OpenTelemetry.
func called(e *errors.Error) (all []attribute.KeyValue) {
	r := e.Reached()
	for _, one := range []struct{ name, value string }{{"swrun.call.method", r.Method}, {"server.address", r.Host}, {"url.path", r.Path}} {
		if one.value != "" {
			all = append(all, attribute.String(one.name, one.value))
		}
	}
	if r.Status > 0 {
		all = append(all, attribute.Int("http.response.status_code", r.Status))
	}
	return all
}

// taskName is the last part of a task's pointer.
func taskName(e *interpreter.HistoryEvent) string {
	pointer := string(e.Pointer)
	return pointer[strings.LastIndexByte(pointer, '/')+1:]
}

// parentOf returns the path of the task around another one: the longest open path that is a prefix; empty for the run.
func (p *progress) parentOf(path interpreter.Path) interpreter.Path {
	for end := len(path) - 1; end > 0; end-- {
		switch path[end] {
		case '/', '[', '!', '+':
			if p.open[path[:end]] != nil {
				return path[:end]
			}
		}
	}
	return ""
}
