package interpreter

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// HistoryStep is one step in a run's history: the type of its event, its time, and the history events that it led to. The state of a run can be
// computed from its history steps (see Replay).
type HistoryStep struct {
	Event  string // one of EventStart...
	At     time.Time
	Events []HistoryEvent // at least one: a step without events changed nothing
	// State is the whole state after the step, if the step cannot be replayed from its events (Result.Withheld); nil otherwise.
	State *StoredState
}

// The values of HistoryStep.Event.
const (
	EventStart    = "start"
	EventFinished = "finished"
	EventDue      = "due"
	EventCancel   = "cancel"
	EventSuspend  = "suspend"
	EventResume   = "resume"
	EventRelease  = "release"
	EventAbort    = "abort"
	EventDeadline = "deadline"

	EventAttemptFailed = "attempt-failed"
	EventReportedLate  = "reported-late"
	EventRollOver      = "roll-over"
	EventRetryNow      = "retry-now"
	EventMigrate       = "migrate"
	EventArrived       = "arrived"
	EventNote          = "note" // of the store: see Note
)

// NewHistoryStep returns the history step of the step that was made for ev at now, with result r.
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
	case Release:
		e.Event = EventRelease
	case Abort:
		e.Event = EventAbort
	case SetDeadline:
		e.Event = EventDeadline
	case AttemptFailed:
		e.Event = EventAttemptFailed
	case ReportedLate:
		e.Event = EventReportedLate
	case RollOver:
		e.Event = EventRollOver
	case RetryNow:
		e.Event = EventRetryNow
	case Migrate:
		e.Event = EventMigrate
	case Arrived:
		e.Event = EventArrived
	}
	return e
}

// cause returns the event that led to the step. start is the event that began the run, which the history does not repeat.
func (e HistoryStep) cause(start Start) Event {
	switch e.Event {
	case EventStart:
		start.LostOwners = max(0, e.eventOf(WorkflowStarted).Attempt-1)
		return start
	case EventFinished:
		r := e.eventOf(EffectFinished, ResultLate, WorkflowChildEnded)
		return Finished{Effect: r.Effect, Result: r.Data, Error: r.Error, Attempt: attemptOf(r), Pointer: string(r.Pointer)}
	case EventAttemptFailed:
		r := e.eventOf(EffectRetried, ResultLate)
		return AttemptFailed{Effect: r.Effect, Attempt: attemptOf(r), Pointer: string(r.Pointer), Error: r.Error, Delay: r.Delay, Until: r.Until}
	case EventReportedLate:
		r := e.eventOf(ResultLate)
		return ReportedLate{Effect: r.Effect, Attempt: attemptOf(r), Pointer: string(r.Pointer), Report: r.Report}
	case EventCancel:
		return e.cancel()
	case EventSuspend:
		return Suspend(e.command())
	case EventResume:
		return Resume(e.command())
	case EventRelease:
		return Release(e.command())
	case EventDeadline:
		set := setDeadlineOf(e.eventOf(WorkflowDeadlineSet, WorkflowDeadlineKept, TaskDeadlineSet, TaskDeadlineKept))
		set.expires = len(e.Events) > 1
		return set
	case EventRetryNow:
		return RetryNow(e.command())
	case EventRollOver:
		return RollOver{}
	case EventMigrate:
		return migrateOf(e.eventOf(WorkflowMigrated, WorkflowMigrationRefused))
	case EventArrived:
		r := e.eventOf(EventConsumed)
		return Arrived{Event: r.Data, At: r.Until}
	case EventAbort:
		return Abort{Error: e.Events[len(e.Events)-1].Error}
	}
	return Due{}
}

func (e HistoryStep) cancel() Cancel {
	given := e.command()
	return Cancel{Reason: given.Reason, Actor: given.Actor, LateAt: e.eventOf(WorkflowLate).Until}
}

// command returns the reason and the actor that the history event of a command contains. The event may be before or after the events that the command
// led to.
func (e HistoryStep) command() (given struct{ Reason, Actor string }) {
	for _, r := range e.Events {
		if r.Type.OfCommand() {
			given.Reason, _ = r.Data.(string)
			given.Actor = r.Actor
			break
		}
	}
	return given
}

// Encode appends the step to b as JSON. Data whose JSON is longer than limit bytes goes to store, which returns the reference to
// write instead.
func (e HistoryStep) Encode(b []byte, limit int, store func(data []byte) (ref string)) ([]byte, error) {
	return new(object).writtenIn(form.History, b, func(o *object) { e.stored(o, &largeData{limit: limit, store: store}) })
}

// DecodeHistoryStep reads the output of Encode; fetch returns the data of a reference.
func DecodeHistoryStep(data []byte, fetch func(ref string) ([]byte, error)) (HistoryStep, error) {
	var e HistoryStep
	err := readStored("a step", form.History, stored{data: data}, func(o *object) { e.stored(o, &largeData{fetch: fetch}) })
	if err != nil {
		return HistoryStep{}, fmt.Errorf("read a step of a history: %w", err)
	}
	return e, nil
}

// largeData stores data that is too large for a history step.
type largeData struct {
	limit int // maximum number of bytes of data in a step
	store func(data []byte) (ref string)
	fetch func(ref string) ([]byte, error)
}

func (e *HistoryStep) stored(o *object, large *largeData) {
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
		ev.stored(o, before, large)
		before = ev
		seq++
	})
	part(o, "s", &e.State, (*StoredState).stored)
}

// stored omits fields that can be derived: a path that equals the pointer, and data and a task that equal the data and task of the event before.
func (e *HistoryEvent) stored(o *object, before *HistoryEvent, large *largeData) {
	text(o, "t", &e.Type)
	e.storedTask(o, before)
	number(o, "n", &e.Effect)
	number(o, "a", &e.Attempt)
	text(o, "W", &e.Worker)
	o.instant("S", &e.StartedAt)
	number(o, "D", &e.Delay)
	custom(o, "A", &e.Activity)
	text(o, "B", &e.Report)
	e.storedData(o, before, large)
	custom(o, "e", &e.Error)
	text(o, "b", &e.CaughtBy)
	text(o, "w", &e.Actor)
	text(o, "c", &e.Run)
	o.instant("u", &e.Until)
	text(o, "T", &e.Timeout)
	o.texts("K", &e.Correlated)
	parts(o, "l", &e.Deadlines, (*Deadline).stored)
}

func (e *HistoryEvent) storedTask(o *object, before *HistoryEvent) {
	if !o.reading && e.sameTask(before) {
		return
	}
	text(o, "k", &e.Kind)
	text(o, "R", &e.Route)
	text(o, "p", &e.Pointer)
	textUnless(o, "h", &e.Path, Path(e.Pointer))
	text(o, "o", &e.Origin)
	if o.reading && e.Kind == "" && e.Type.ofTask() && before != nil {
		e.Kind, e.Route, e.Pointer, e.Path, e.Origin = before.Kind, before.Route, before.Pointer, before.Path, before.Origin
	}
}

// ofTask reports whether events of a type are about a task.
func (t HistoryEventType) ofTask() bool {
	return t != ResultLate && !strings.HasPrefix(string(t), "workflow.")
}

func (e *HistoryEvent) sameTask(other *HistoryEvent) bool {
	return other != nil && e.Type.ofTask() && other.Type.ofTask() && e.Kind == other.Kind && e.Route == other.Route && e.Pointer == other.Pointer &&
		e.Path == other.Path && e.Origin == other.Origin
}

func (e *HistoryEvent) storedData(o *object, before *HistoryEvent, large *largeData) {
	same := before != nil && e.Data != nil && jsonvalue.Same(e.Data, before.Data)
	o.flag("=", &same)
	switch {
	case same && before != nil:
		e.Data = before.Data
	case o.reading:
		e.readData(o, large)
	case e.Data != nil:
		e.writeData(o, large)
	}
}

func (e *HistoryEvent) writeData(o *object, large *largeData) {
	without := o.b
	o.key("d")
	b, err := expr.AppendAtMost(o.b, e.Data, large.limit)
	if err == nil {
		o.b = b
		return
	}
	o.b = without
	data, err := expr.Append(make([]byte, 0, jsonCapacity(e.Data)), e.Data)
	if err != nil {
		o.fail(err)
		return
	}
	ref := large.store(data)
	text(o, "x", &ref)
}

func (e *HistoryEvent) readData(o *object, large *largeData) {
	data, ok := o.take("d")
	if !ok {
		var ref string
		if text(o, "x", &ref); ref == "" {
			return
		}
		var err error
		if data, err = large.fetch(ref); err != nil {
			o.fail(err)
			return
		}
	}
	e.Data = o.decoded(data)
}
