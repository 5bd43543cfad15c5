package interpreter

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// HistoryStep is one step as a run's history keeps it: what happened, when, and the records of what it led to. The entries
// of a run tell its whole state (see Replay).
type HistoryStep struct {
	Event  string // start, finished, due, cancel, suspend, resume or abort
	At     time.Time
	Events []HistoryEvent // at least one: a step without records has changed nothing
	// State is the whole state after the step, if its records do not tell what it has changed (Result.Withheld); nil
	// otherwise.
	State *StoredState
}

// The events of entries.
const (
	EventStart    = "start"
	EventFinished = "finished"
	EventDue      = "due"
	EventCancel   = "cancel"
	EventSuspend  = "suspend"
	EventResume   = "resume"
	EventAbort    = "abort"
)

// NewHistoryStep returns the entry of a step.
func NewHistoryStep(ev Event, now time.Time, r Result) HistoryStep {
	e := HistoryStep{At: now, Events: r.History}
	switch ev.(type) {
	case Start:
		e.Event = EventStart
	case Finished:
		e.Event = EventFinished
	case Due:
		e.Event = EventDue
	case Cancel:
		e.Event = EventCancel
	case Suspend:
		e.Event = EventSuspend
	case Resume:
		e.Event = EventResume
	case Abort:
		e.Event = EventAbort
	}
	return e
}

// cause returns the event of an entry; start is the event that began the run, which is not repeated in its history.
func (e HistoryStep) cause(start Start) Event {
	switch e.Event {
	case EventStart:
		return start
	case EventFinished:
		for _, r := range e.Events {
			if r.Type == EffectFinished || r.Type == ResultLate {
				return Finished{Effect: r.Effect, Result: r.Data, Error: r.Error}
			}
		}
	case EventCancel:
		return Cancel{Reason: e.reason()}
	case EventSuspend:
		return Suspend{Reason: e.reason()}
	case EventResume:
		return Resume{Reason: e.reason()}
	case EventAbort:
		return Abort{Error: e.Events[len(e.Events)-1].Error}
	}
	return Due{}
}

// reason is what the record of a command says; it stands before or after what the command led to.
func (e HistoryStep) reason() string {
	for _, r := range e.Events {
		switch r.Type {
		case WorkflowCancelled, WorkflowSuspended, WorkflowResumed:
			text, _ := r.Data.(string)
			return text
		}
	}
	return ""
}

// Replay repeats a run from its history: it takes s from its beginning to where the entries end,
// and returns it as it is then.
func Replay(p *Program, s *State, start Start, entries []HistoryStep) (*State, error) {
	s.Input = p.redactions().EscapeReferences(start.Input) // which a run has also if it never started
	for _, e := range entries {
		if e.State == nil {
			Step(p, s, e.cause(start), e.At)
			continue
		}
		var err error
		if s, err = Restore(p, s.Namespace, s.ID, start.Input, *e.State); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Encode appends the step to b as JSON. Data whose JSON is longer than limit goes to keep, which returns the reference to
// write instead.
func (e HistoryStep) Encode(b []byte, limit int, keep func(data []byte) (ref string)) ([]byte, error) {
	o := newObject(b, nil)
	e.stored(o, &largeData{limit: limit, store: keep})
	return o.end()
}

// DecodeHistoryStep reads what Encode wrote; fetch returns data that is kept apart.
func DecodeHistoryStep(data []byte, fetch func(ref string) ([]byte, error)) (HistoryStep, error) {
	var e HistoryStep
	err := readObject(data, nil, func(o *object) { e.stored(o, &largeData{fetch: fetch}) })
	if err != nil {
		return HistoryStep{}, fmt.Errorf("read a step of a history: %w", err)
	}
	return e, nil
}

// largeData is where data is kept that is too large to stand in history.
type largeData struct {
	limit int // bytes that may stand in it
	store func(data []byte) (ref string)
	fetch func(ref string) ([]byte, error)
}

func (e *HistoryStep) stored(o *object, a *largeData) {
	text(o, "e", &e.Event)
	o.instant("t", &e.At)
	seq := 0 // of the first event; the others follow without gaps
	if len(e.Events) > 0 {
		seq = e.Events[0].Seq
	}
	number(o, "q", &seq)
	var before *HistoryEvent
	parts(o, "r", &e.Events, func(ev *HistoryEvent, o *object) {
		ev.Seq, ev.At = seq, e.At
		ev.stored(o, before, a)
		before = ev
		seq++
	})
	part(o, "s", &e.State, (*StoredState).stored)
}

// stored leaves out what equals something else: a path that is the pointer, data that is that of the event before, and
// the task if it is that of the event before.
func (ev *HistoryEvent) stored(o *object, before *HistoryEvent, a *largeData) {
	text(o, "t", &ev.Type)
	ev.storedTask(o, before)
	number(o, "n", &ev.Effect)
	number(o, "a", &ev.Attempt)
	ev.storedData(o, before, a)
	custom(o, "e", &ev.Error)
	text(o, "b", &ev.CaughtBy)
	o.instant("u", &ev.Until)
	text(o, "T", &ev.Timeout)
	parts(o, "l", &ev.Deadlines, (*Deadline).stored)
}

func (ev *HistoryEvent) storedTask(o *object, before *HistoryEvent) {
	if !o.reading && ev.sameTask(before) {
		return
	}
	text(o, "k", &ev.Kind)
	text(o, "p", &ev.Pointer)
	textUnless(o, "h", &ev.Path, Path(ev.Pointer))
	text(o, "o", &ev.Origin)
	if o.reading && ev.Kind == "" && ev.Type.ofTask() && before != nil {
		ev.Kind, ev.Pointer, ev.Path, ev.Origin = before.Kind, before.Pointer, before.Path, before.Origin
	}
}

// ofTask reports whether events of a type are about a task.
func (t HistoryEventType) ofTask() bool {
	return t != ResultLate && !strings.HasPrefix(string(t), "workflow.")
}

func (ev *HistoryEvent) sameTask(other *HistoryEvent) bool {
	return other != nil && ev.Type.ofTask() && other.Type.ofTask() && ev.Kind == other.Kind && ev.Pointer == other.Pointer &&
		ev.Path == other.Path && ev.Origin == other.Origin
}

func (ev *HistoryEvent) storedData(o *object, before *HistoryEvent, a *largeData) {
	same := before != nil && ev.Data != nil && jsonvalue.Same(ev.Data, before.Data)
	o.flag("=", &same)
	switch {
	case same && before != nil:
		ev.Data = before.Data
	case o.reading:
		ev.readData(o, a)
	case ev.Data != nil:
		ev.writeData(o, a)
	}
}

func (ev *HistoryEvent) writeData(o *object, a *largeData) {
	without := o.b
	o.key("d")
	b, err := expr.AppendAtMost(o.b, ev.Data, a.limit)
	if err == nil {
		o.b = b
		return
	}
	o.b = without
	data, err := expr.Append(make([]byte, 0, jsonCapacity(ev.Data)), ev.Data)
	if err != nil {
		o.fail(err)
		return
	}
	ref := a.store(data)
	text(o, "x", &ref)
}

func (ev *HistoryEvent) readData(o *object, a *largeData) {
	data, ok := o.take("d")
	if !ok {
		var ref string
		if text(o, "x", &ref); ref == "" {
			return
		}
		var err error
		if data, err = a.fetch(ref); err != nil {
			o.fail(err)
			return
		}
	}
	ev.Data = o.decoded(data)
}
