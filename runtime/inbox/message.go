// Package inbox contains the messages to a run from outside: the results of work that others did for it, and commands. Clients, other runs
// and workers send them, and the execution of the run reads them. The package defines their meaning, not their delivery.
package inbox

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Message is a message in the inbox of a run. Stores keep it as JSON.
type Message struct {
	Type   string               `json:"type"` // its meaning: one of interpreter.EventFinished...
	Effect interpreter.EffectID `json:"effect,omitempty"`
	Result *interpreter.Value   `json:"result,omitempty"`
	Error  *errors.Error        `json:"error,omitempty"`
	Reason string               `json:"reason,omitempty"`
	Actor  string               `json:"actor,omitempty"` // the actor of the command
	// Terminated reports that the task no longer waits.
	Terminated bool `json:"terminated,omitempty"`
	// Deadline is how a deadline is changed, without the reason and the actor.
	Deadline *interpreter.SetDeadline `json:"deadline,omitempty"`
	// Migration is the definition with which the run is to continue.
	Migration *Migration `json:"migration,omitempty"`
	// Successor is the definition that the next run of the execution has.
	Successor *interpreter.Version `json:"successor,omitempty"`
	// Of an activity:
	Attempt interpreter.Attempt `json:"attempt,omitzero"`
	Pointer string              `json:"pointer,omitempty"` // of its task
	Delay   time.Duration       `json:"delay,omitempty"`   // before the next attempt
	Until   time.Time           `json:"until,omitzero"`    // when the next attempt may begin
	Report  string              `json:"report,omitempty"`  // that came too late
	// CloudEvent is the received event, structured, and At the time of its delivery.
	CloudEvent *interpreter.Value `json:"event,omitempty"`
	At         time.Time          `json:"at,omitzero"`
}

// Migration is the definition with which a run is to continue.
type Migration struct {
	To  interpreter.Version    `json:"to"`
	Map interpreter.PointerMap `json:"map,omitempty"`
}

// Encode returns the message as stores keep it.
func (m Message) Encode() (store.Message, error) {
	data, err := form.Marshal(form.Message, m)
	if err != nil {
		return nil, fmt.Errorf("write a message: %w", err)
	}
	return data, nil
}

// Parse parses the output of Encode.
func Parse(data store.Message) (Message, error) {
	var m Message
	if err := form.Unmarshal("a message", form.Message, data, &m); err != nil {
		return m, fmt.Errorf("read a message: %w", err)
	}
	return m, nil
}

// Read parses the n-th message to a run, and returns its event for the run. The error is the refusal of a run that cannot be read.
func Read(run store.Instance, n int64, data store.Message) (m Message, ev interpreter.Event, err error) {
	if m, err = Parse(data); err == nil {
		ev, err = m.Event()
	}
	if err != nil {
		return m, nil, store.RefuseUnreadable("run "+run.String(), fmt.Errorf("message %d of its inbox: %w", n, err), time.Time{})
	}
	return m, ev, nil
}

// Event returns the event of the message for the run.
func (m Message) Event() (interpreter.Event, error) {
	switch m.Type {
	case interpreter.EventFinished:
		ev := interpreter.Finished{Effect: m.Effect, Error: m.Error, Attempt: m.Attempt, Pointer: m.Pointer}
		if m.Result != nil {
			ev.Result = m.Result.V
		}
		if m.Successor != nil {
			ev.Successor = &interpreter.Successor{Of: *m.Successor}
		}
		return ev, nil
	case interpreter.EventAttemptFailed:
		return interpreter.AttemptFailed{Effect: m.Effect, Attempt: m.Attempt, Pointer: m.Pointer, Error: m.Error, Delay: m.Delay, Until: m.Until}, nil
	case interpreter.EventReportedLate:
		return interpreter.ReportedLate{Effect: m.Effect, Attempt: m.Attempt, Pointer: m.Pointer, Report: m.Report}, nil
	case interpreter.EventArrived:
		if m.CloudEvent == nil {
			return nil, errors.New("read a message: it reports an event and does not contain it")
		}
		return interpreter.Arrived{Event: m.CloudEvent.V, At: m.At}, nil
	}
	return m.command()
}

// command returns the command that the message is.
func (m Message) command() (interpreter.Event, error) {
	switch m.Type {
	case interpreter.EventCancel:
		return interpreter.Cancel{Reason: m.Reason, Actor: m.Actor}, nil
	case interpreter.EventSuspend:
		return interpreter.Suspend{Reason: m.Reason, Actor: m.Actor}, nil
	case interpreter.EventResume:
		return interpreter.Resume{Reason: m.Reason, Actor: m.Actor}, nil
	case interpreter.EventRelease:
		return interpreter.Release{Reason: m.Reason, Actor: m.Actor}, nil
	case interpreter.EventRetryNow:
		return interpreter.RetryNow{Reason: m.Reason, Actor: m.Actor}, nil
	case interpreter.EventDeadline:
		if m.Deadline == nil {
			return nil, errors.New("read a message: it changes a deadline and does not specify which")
		}
		set := *m.Deadline
		set.Reason, set.Actor = m.Reason, m.Actor
		return set, nil
	case interpreter.EventMigrate:
		if m.Migration == nil {
			return nil, errors.New("read a message: it migrates a run and does not contain the definition")
		}
		return interpreter.Migrate{Of: m.Migration.To, Map: m.Migration.Map, Reason: m.Reason, Actor: m.Actor}, nil
	}
	return nil, fmt.Errorf("read a message: %q is not a type of message", m.Type)
}
