package api

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/matching"
)

// ActivityPoll asks for activities to perform.
type ActivityPoll struct {
	Queues    []string `json:"queues" minItems:"1" maxItems:"100" nullable:"false" example:"default" doc:"The queues to take from."`
	Limit     int      `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"How many at most."`
	Wait      Span     `json:"wait,omitzero" doc:"How long to wait if there are none, at most two minutes; not at all unless given."`
	Worker    string   `json:"worker,omitempty" maxLength:"128" doc:"The name of the worker, for people."`
	Namespace string   `json:"namespace,omitempty" doc:"Only activities of runs of this namespace."`
}

// Activities are what a poll answers with.
type Activities struct {
	Activities []Activity `json:"activities" nullable:"false"`
}

// Activity is an activity in the hands of a worker.
type Activity struct {
	Token          string            `json:"token" doc:"For reports about this attempt."`
	Type           string            `json:"type" doc:"What is to be done."`
	Queue          string            `json:"queue"`
	Input          any               `json:"input"`
	Attempt        int               `json:"attempt" doc:"Counts from 1."`
	IdempotencyKey string            `json:"idempotencyKey" doc:"The same for all attempts: whoever is called can tell a repetition by it."`
	Run            ActivityRun       `json:"run"`
	Pointer        string            `json:"pointer" doc:"Where the task stands in its document."`
	StartedAt      string            `json:"startedAt" format:"date-time" doc:"When the worker took it, by the clock of the store, as the deadlines are."`
	Deadlines      ActivityDeadlines `json:"deadlines"`
	Progress       any               `json:"progress,omitempty" doc:"What the last heartbeat told that had any, also of an earlier attempt."`
}

// ActivityRun is the run that an activity belongs to.
type ActivityRun struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// ActivityDeadlines are when an attempt ends, unless it is reported before; what does not end it is absent.
type ActivityDeadlines struct {
	StartToClose    string `json:"startToClose,omitempty" format:"date-time"`
	ScheduleToClose string `json:"scheduleToClose,omitempty" format:"date-time"`
	Heartbeat       string `json:"heartbeat,omitempty" format:"date-time" doc:"Until the next heartbeat."`
}

// NewActivity returns the JSON of an activity that a worker has taken.
func NewActivity(t matching.Task) Activity {
	a := Activity{
		Token: t.Token, Type: t.Activity.Type, Queue: t.Activity.Queue, Input: t.Input.V, Attempt: t.Activity.Attempt, IdempotencyKey: t.Activity.Key,
		Run: ActivityRun{t.ID.Run.Namespace, t.ID.Run.ID}, Pointer: t.Activity.Pointer, StartedAt: Time(t.Activity.StartedAt), Deadlines: newActivityDeadlines(t.Activity),
	}
	if t.Activity.Progress != nil {
		a.Progress = t.Activity.Progress.V
	}
	return a
}

func newActivityDeadlines(a *activity.Activity) (all ActivityDeadlines) {
	for _, d := range a.Deadlines() {
		switch d.Kind {
		case interpreter.DeadlineStartToClose:
			all.StartToClose = millisecond(d.At)
		case interpreter.DeadlineScheduleToClose:
			all.ScheduleToClose = millisecond(d.At)
		case interpreter.DeadlineHeartbeat:
			all.Heartbeat = millisecond(d.At)
		}
	}
	return all
}

func millisecond(t time.Time) string { return Time(t.Truncate(time.Millisecond)) }

// ActivityHeartbeat says that the worker of an attempt is alive.
type ActivityHeartbeat struct {
	Token    string `json:"token" minLength:"1" maxLength:"4096"`
	Progress any    `json:"progress,omitempty" doc:"How far the worker has come, for people and for the next attempt."`
}

// ActivityHeard is the answer to a heartbeat.
type ActivityHeard struct {
	CancelRequested bool `json:"cancelRequested" doc:"Nobody waits for the activity any more: the worker may stop."`
}

// ActivityResult reports that an attempt has succeeded.
type ActivityResult struct {
	Token  string `json:"token" minLength:"1" maxLength:"4096"`
	Result any    `json:"result,omitempty"`
}

// ActivityFailure reports that an attempt has failed.
type ActivityFailure struct {
	Token        string `json:"token" minLength:"1" maxLength:"4096"`
	Type         string `json:"type,omitempty" maxLength:"2048" doc:"The type of the error: a URI, or the name of a standard type; runtime unless given."`
	Title        string `json:"title,omitempty" maxLength:"2048"`
	Detail       string `json:"detail,omitempty" maxLength:"65536"`
	Status       int    `json:"status,omitempty" minimum:"100" maximum:"599"`
	NonRetryable bool   `json:"nonRetryable,omitempty" doc:"There is to be no other attempt."`
}

// ActivityReturn gives an activity back that is not performed.
type ActivityReturn struct {
	Token string `json:"token" minLength:"1" maxLength:"4096"`
}
