package api

import (
	"cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
)

// History is the history of a run.
type History struct {
	Schema     string         `json:"schema"`
	Run        string         `json:"run"`
	Records    []HistoryEvent `json:"records"`
	Later      string         `json:"later,omitempty" doc:"The cursor of later records; absent if more records exist now, and if the run is over."`
	HiddenData bool           `json:"hiddenData,omitempty" data:"hidden" doc:"The token of the caller hides the data of runs. Members with data are omitted."`
}

// HistoryEvent is one record of a history.
type HistoryEvent struct {
	Seq       int    `json:"seq"`
	At        string `json:"at"`
	Type      string `json:"type"`
	Kind      string `json:"kind,omitempty"`
	Pointer   string `json:"pointer,omitempty"`
	Path      string `json:"path,omitempty"`   // if it differs from Pointer
	Origin    string `json:"origin,omitempty"` // the task's place in the document, if it differs from Pointer
	Child     string `json:"child,omitempty"`  // the run that the task has started, or the run that failed
	Parent    string `json:"parent,omitempty"` // the run that has started this one
	Effect    int    `json:"effect,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Worker    string `json:"worker,omitempty" doc:"The outside worker that made the attempt, or the worker of the engine that was lost."`
	StartedAt string `json:"startedAt,omitempty" format:"date-time" doc:"The time at which the outside worker took the ended attempt."`
	// DelaySeconds is the time from the end of this attempt at an activity to the next one.
	DelaySeconds *float64       `json:"delaySeconds,omitempty" doc:"How long the next attempt at the activity waits after the end of this one."`
	Activity     *ActivityTerms `json:"activity,omitempty" doc:"Type, queue, timeouts and retry policy of the activity that was scheduled."`
	Report       string         `json:"report,omitempty" enum:"completed,failed" doc:"The report of an outside worker that arrived too late."`
	Data         any            `json:"data,omitempty"`
	Actor        string         `json:"actor,omitempty"` // the giver of the command
	Error        any            `json:"error,omitempty" data:"error"`
	Category     string         `json:"category,omitempty"`    // of the error: the short name of a standard error, limit, or application
	Propagation  string         `json:"propagation,omitempty"` // the cause of the failure: task, child or timeout
	By           string         `json:"by,omitempty"`          // the try that has caught the error
	TimeoutKind  string         `json:"timeoutKind,omitempty"`
	Until        string         `json:"until,omitempty"`
	// Correlated are the values of the correlations of the consumed events.
	Correlated  map[string]string `json:"correlated,omitempty" data:"hide"`
	CommittedAt string            `json:"committedAt,omitempty"`
	Epoch       int               `json:"epoch,omitempty"` // of the owner that has stored it
	Timeouts
}

// NewHistoryEvent returns the JSON of a record; step is the stored step that contains it.
func NewHistoryEvent(r interpreter.HistoryEvent, step client.HistoryEntry) HistoryEvent {
	event := HistoryEvent{
		Seq: r.Seq, At: Time(r.At), Type: string(r.Type), Kind: string(r.Kind),
		Pointer: string(r.Pointer), Origin: string(r.Origin), Category: category(r.Error),
		Effect: int(r.Effect), Attempt: r.Attempt, Worker: r.Worker, StartedAt: Time(r.StartedAt), DelaySeconds: given(r.Delay),
		Activity: newActivityTerms(r.Activity), Report: r.Report, Data: r.Data,
		Actor: r.Actor, Error: Error(r.Error), By: string(r.CaughtBy), TimeoutKind: r.Timeout,
		Until: Time(r.Until), Correlated: r.Correlated, CommittedAt: Time(step.CommittedAt),
	}
	if string(r.Path) != event.Pointer {
		event.Path = string(r.Path)
	}
	if event.CommittedAt != "" {
		event.Epoch = int(step.Token.Epoch)
	}
	switch {
	case r.Type == interpreter.WorkflowStarted:
		event.Parent = r.Run
	case tellsPropagation(r):
		event.Propagation, event.Child = client.Propagation(r)
		if event.TimeoutKind == "" && event.Child != "" {
			event.TimeoutKind = client.TimeoutKindOf(r.Error)
		}
	default:
		event.Child = r.Run
	}
	event.lengths(r.Deadlines)
	event.ends(r.Deadlines)
	return event
}

// tellsPropagation reports whether a record contains the cause of its failure. A record of the workflow, or of a try, contains it for a timeout.
// Otherwise it repeats the error of a task, and the record of the task contains the cause.
func tellsPropagation(r interpreter.HistoryEvent) bool {
	switch r.Type {
	case interpreter.TaskFaulted, interpreter.EffectRetried, interpreter.EffectFinished:
		return r.Error != nil
	}
	return r.TimedOut()
}

// Record returns the record from the JSON, without the deadlines of the run, which the JSON contains in another form.
func (e *HistoryEvent) Record() interpreter.HistoryEvent {
	timeout := e.TimeoutKind
	if e.Propagation == client.PropagationChild { // the timeout belongs to the child
		timeout = ""
	}
	return interpreter.HistoryEvent{
		Seq: e.Seq, At: ParseTime(e.At), Type: interpreter.HistoryEventType(e.Type), Kind: dsl.Kind(e.Kind), Pointer: dsl.Pointer(e.Pointer),
		Path: interpreter.Path(cmp.Or(e.Path, e.Pointer)), Origin: dsl.Pointer(e.Origin),
		Effect: interpreter.EffectID(e.Effect), Attempt: e.Attempt, Worker: e.Worker,
		StartedAt: ParseTime(e.StartedAt), Delay: fromGiven(e.DelaySeconds), Activity: e.Activity.terms(), Report: e.Report,
		Run: cmp.Or(e.Child, e.Parent), Data: e.Data, Actor: e.Actor, Error: ParseError(e.Error),
		CaughtBy: dsl.Pointer(e.By), Timeout: timeout, Until: ParseTime(e.Until), Correlated: e.Correlated,
	}
}

func category(e *errors.Error) string {
	if e == nil {
		return ""
	}
	return errors.Category(e.Type)
}
