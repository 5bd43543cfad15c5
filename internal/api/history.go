package api

import (
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// History is what has happened in a run.
type History struct {
	Schema  string         `json:"schema"`
	Run     string         `json:"run"`
	Records []HistoryEvent `json:"records"`
}

// HistoryEvent is one record of it.
type HistoryEvent struct {
	Seq         int    `json:"seq"`
	At          string `json:"at"`
	Type        string `json:"type"`
	Kind        string `json:"kind,omitempty"`
	Pointer     string `json:"pointer,omitempty"`
	Path        string `json:"path,omitempty"`  // if it is not Pointer
	Child       string `json:"child,omitempty"` // id of the run that the task has started
	Effect      int    `json:"effect,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	Data        any    `json:"data,omitempty"`
	Actor       string `json:"actor,omitempty"` // who has given the command
	Error       any    `json:"error,omitempty"`
	By          string `json:"by,omitempty"` // the try that has caught the error
	TimeoutKind string `json:"timeoutKind,omitempty"`
	Until       string `json:"until,omitempty"`
	CommittedAt string `json:"committedAt,omitempty"`
	Epoch       int    `json:"epoch,omitempty"` // of the owner that has stored it
	Timeouts
}

// NewHistoryEvent returns the JSON of a record of a run; step is what it was stored with.
func NewHistoryEvent(i store.Instance, r interpreter.HistoryEvent, step client.HistoryEntry) HistoryEvent {
	event := HistoryEvent{
		Seq: r.Seq, At: Time(r.At), Type: string(r.Type), Kind: string(r.Kind), Pointer: string(r.Pointer), Child: StartedChild(i, r),
		Effect: int(r.Effect), Attempt: r.Attempt, Data: r.Data, Actor: r.Actor, Error: Error(r.Error), By: string(r.CaughtBy), TimeoutKind: r.Timeout,
		Until: Time(r.Until), CommittedAt: Time(step.CommittedAt),
	}
	if string(r.Path) != event.Pointer {
		event.Path = string(r.Path)
	}
	if event.CommittedAt != "" {
		event.Epoch = int(step.Token.Epoch)
	}
	event.lengths(r.Deadlines)
	event.ends(r.Deadlines)
	return event
}

// StartedChild returns the id of the run that the task of a record has started; empty if it has started none.
func StartedChild(i store.Instance, r interpreter.HistoryEvent) string {
	if r.Route != interpreter.RouteChild || r.Type != interpreter.TaskStarted && r.Type != interpreter.TaskFaulted {
		return ""
	}
	return execution.ChildID(i, r.Path)
}
