package interpreter

import (
	"cmp"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// HistoryEvent is one event in a run's history: one result of a step. Seq numbers the events of a run 1, 2, 3...
type HistoryEvent struct {
	Seq     int              `json:"seq"`
	At      time.Time        `json:"at"`
	Type    HistoryEventType `json:"type"`
	Kind    dsl.Kind         `json:"kind,omitempty"`    // of the task; empty for the workflow
	Route   Route            `json:"route,omitempty"`   // of the task's effects
	Pointer dsl.Pointer      `json:"pointer,omitempty"` // of the task; empty for the workflow
	Path    Path             `json:"path,omitempty"`    // occurrence of the task
	Origin  dsl.Pointer      `json:"origin,omitempty"`  // the task's place in the document, if that is not Pointer
	Effect  EffectID         `json:"effect,omitempty"`  // that started, finished, was cut, or came too late
	Attempt int              `json:"attempt,omitempty"` // of the effect or, for RetryScheduled, of the attempt to come
	Worker  string           `json:"worker,omitempty"`  // the outside worker that made the attempt
	// StartedAt is the time at which the outside worker took the attempt that ended or was cut; zero if no worker took it.
	StartedAt time.Time `json:"startedAt,omitzero"`
	// Delay is the time between the end of the attempt and Until; only EffectRetried contains it.
	Delay time.Duration `json:"delay,omitempty"`
	// Activity describes the scheduled activity; only EffectStarted of an activity contains it.
	Activity *ActivityTerms `json:"activity,omitempty"`
	// Report is the report of the worker about an activity, ReportCompleted or ReportFailed; only ResultLate contains it.
	Report string `json:"report,omitempty"`

	// Run is another run, as namespace/id: the run that EffectStarted starts, or in WorkflowStarted the run that started this one.
	Run string `json:"run,omitempty"`
	// Data is the raw input of a started task or run, the output of a completed one, or the event that EffectStarted emits.
	Data any `json:"data,omitempty"`
	// Actor gave the command of the event, or started the run; empty if no command from outside led to the event.
	Actor string `json:"actor,omitempty"`
	// Error is the error that was raised or caught, or the reason of a cancellation.
	Error *errors.Error `json:"error,omitempty"`
	// CaughtBy is the pointer of the try that caught Error.
	CaughtBy dsl.Pointer `json:"by,omitempty"`
	// Until is the end of a wait or of a retry delay, or the deadline of a started task or run. For a consumed event it is the time of its arrival, if
	// the event arrived before the step.
	Until time.Time `json:"until,omitzero"`
	// Timeout is the kind of the deadline that caused Error; empty if no deadline of the run caused it, regardless of the type of Error.
	Timeout string `json:"timeout,omitempty"`
	// Correlated are the values of the correlations of the consumed events, as text; only TaskCompleted of a task that listened contains them.
	Correlated map[string]string `json:"correlated,omitempty"`
	// Deadlines are the deadlines of the whole run. Only WorkflowStarted contains them, and WorkflowContinued if no WorkflowStarted follows.
	Deadlines []Deadline `json:"deadlines,omitempty"`
}

// Place returns the task's place in the document.
func (e HistoryEvent) Place() dsl.Pointer { return cmp.Or(e.Origin, e.Pointer) }

// TimedOut reports whether a deadline of the run has led to the event.
func (e HistoryEvent) TimedOut() bool { return e.Timeout != "" && e.Error != nil }

// HistoryEventType is the type of a history event.
type HistoryEventType string

// The types of history events.
const (
	WorkflowStarted   HistoryEventType = "workflow.started"
	WorkflowCompleted HistoryEventType = "workflow.completed"
	WorkflowFaulted   HistoryEventType = "workflow.faulted"
	WorkflowCancelled HistoryEventType = "workflow.cancelled"
	WorkflowSuspended HistoryEventType = "workflow.suspended"
	WorkflowResumed   HistoryEventType = "workflow.resumed"
	// WorkflowWorkerLost reports that Worker was lost while it held the run: its lease ended, or it let the run hang. Attempt counts the workers that
	// were lost in a row.
	WorkflowWorkerLost  HistoryEventType = "workflow.worker-lost"
	WorkflowQuarantined HistoryEventType = "workflow.quarantined" // too many workers were lost in a row
	WorkflowReleased    HistoryEventType = "workflow.released"    // from quarantine
	WorkflowLate        HistoryEventType = "workflow.late"        // its soft deadline Until has passed
	TaskLate            HistoryEventType = "task.late"
	// WorkflowDeadlineSet reports that a deadline of the run was changed to Until, or removed. Data contains the request of SetDeadline.
	WorkflowDeadlineSet  HistoryEventType = "workflow.deadline-set"
	WorkflowDeadlineKept HistoryEventType = "workflow.deadline-kept" // nothing changed; Data contains the reason
	TaskDeadlineSet      HistoryEventType = "task.deadline-set"
	TaskDeadlineKept     HistoryEventType = "task.deadline-kept"
	WorkflowRetried      HistoryEventType = "workflow.retried" // tasks that waited for their next attempt continue immediately
	// WorkflowMigrated reports that the run continues with another definition; Data contains the old and the new definition.
	WorkflowMigrated         HistoryEventType = "workflow.migrated"
	WorkflowMigrationRefused HistoryEventType = "workflow.migration-refused" // Data contains the reason
	// WorkflowForked reports that the run continues from a task of another run: Data is the path of the task.
	WorkflowForked HistoryEventType = "workflow.forked"
	// WorkflowContinued begins the next run of the execution. A task that continues as new gives its input as Data.
	WorkflowContinued HistoryEventType = "workflow.continued"
	// WorkflowChildEnded reports the end of the child Run. No task waited for the child, and it would have ended with the run.
	WorkflowChildEnded HistoryEventType = "workflow.child-ended"

	TaskStarted    HistoryEventType = "task.started"
	TaskCompleted  HistoryEventType = "task.completed"
	TaskFaulted    HistoryEventType = "task.faulted"   // the task raised Error; whether anything catches it follows
	TaskCancelled  HistoryEventType = "task.cancelled" // a fork's loser, or a task in a scope that ended
	TaskSkipped    HistoryEventType = "task.skipped"   // its if was false
	TaskWaiting    HistoryEventType = "task.waiting"   // until Until
	TaskSuspended  HistoryEventType = "task.suspended" // with the run: nothing starts in it
	TaskResumed    HistoryEventType = "task.resumed"
	ErrorCaught    HistoryEventType = "error.caught" // Error was caught by the try CaughtBy
	RetryScheduled HistoryEventType = "retry.scheduled"
	EffectStarted  HistoryEventType = "effect.started"
	EffectRetried  HistoryEventType = "effect.retried" // an attempt of an activity failed with Error; the next one may begin at Until
	EffectFinished HistoryEventType = "effect.finished"
	EventConsumed  HistoryEventType = "event.consumed" // Data is a structured CloudEvent
	ResultLate     HistoryEventType = "result.late"    // arrived after its task was over, and was not used
)

// OfCommand reports whether events of a type report a command that was carried out. Such events contain the command's reason as Data, and its Actor.
func (t HistoryEventType) OfCommand() bool {
	switch t {
	case WorkflowCancelled, WorkflowSuspended, WorkflowResumed, WorkflowReleased, WorkflowRetried:
		return true
	}
	return false
}
