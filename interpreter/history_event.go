package interpreter

import (
	"cmp"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// HistoryEvent is one event in a run's history: one thing that a step did. Seq numbers the events of a run 1, 2, 3...
type HistoryEvent struct {
	Seq     int              `json:"seq"`
	At      time.Time        `json:"at"`
	Type    HistoryEventType `json:"type"`
	Kind    dsl.Kind         `json:"kind,omitempty"`    // of the task; empty for the workflow
	Route   Route            `json:"route,omitempty"`   // of the task's effects
	Pointer dsl.Pointer      `json:"pointer,omitempty"` // of the task; empty for the workflow
	Path    Path             `json:"path,omitempty"`    // occurrence of the task
	Origin  dsl.Pointer      `json:"origin,omitempty"`  // where the task stands in the document, if that is not Pointer
	Effect  EffectID         `json:"effect,omitempty"`  // that started, finished, was cut, or came too late
	Attempt int              `json:"attempt,omitempty"` // of the effect or, for RetryScheduled, of the attempt to come
	Worker  string           `json:"worker,omitempty"`  // the outside worker that made the attempt
	// StartedAt is when the outside worker took the attempt that has ended or was cut; zero if none took it.
	StartedAt time.Time `json:"startedAt,omitzero"`
	// Delay is the time between the end of the attempt and Until; only EffectRetried has it.
	Delay time.Duration `json:"delay,omitempty"`
	// Activity is what was scheduled; only EffectStarted of an activity has it.
	Activity *ActivityTerms `json:"activity,omitempty"`
	// Report is what the worker reported about an activity, ReportCompleted or ReportFailed; only ResultLate has it.
	Report string `json:"report,omitempty"`

	// Run is another run that this is about, as namespace/id: the one that EffectStarted starts, or the one that has started this one
	// in WorkflowStarted.
	Run string `json:"run,omitempty"`
	// Data is the raw input of what started, or the output of what completed; of EffectStarted, the event that is emitted.
	Data any `json:"data,omitempty"`
	// Actor is who gave the command that this is about, or started the run; empty if nobody outside did.
	Actor string `json:"actor,omitempty"`
	// Error is what faulted or was caught, or the reason why something was cancelled.
	Error *errors.Error `json:"error,omitempty"`
	// CaughtBy is the pointer of the try that caught Error.
	CaughtBy dsl.Pointer `json:"by,omitempty"`
	// Until is when a wait or retry delay ends, the deadline of what started, or when what was consumed had come, if that was
	// before the step.
	Until time.Time `json:"until,omitzero"`
	// Timeout is the kind of the deadline that caused Error; empty if no deadline of the run did, whatever Error says.
	Timeout string `json:"timeout,omitempty"`
	// Correlated are the values of the correlations of what was consumed, as text; only TaskCompleted of a task that has listened has them.
	Correlated map[string]string `json:"correlated,omitempty"`
	// Deadlines are those of the whole run; only WorkflowStarted has them, and WorkflowContinued if no WorkflowStarted follows.
	Deadlines []Deadline `json:"deadlines,omitempty"`
}

// Place returns where the task stands in the document.
func (e HistoryEvent) Place() dsl.Pointer { return cmp.Or(e.Origin, e.Pointer) }

// TimedOut reports whether a deadline of the run has led to the event.
func (e HistoryEvent) TimedOut() bool { return e.Timeout != "" && e.Error != nil }

// HistoryEventType says what happened.
type HistoryEventType string

// The types of history events.
const (
	WorkflowStarted   HistoryEventType = "workflow.started"
	WorkflowCompleted HistoryEventType = "workflow.completed"
	WorkflowFaulted   HistoryEventType = "workflow.faulted"
	WorkflowCancelled HistoryEventType = "workflow.cancelled"
	WorkflowSuspended HistoryEventType = "workflow.suspended"
	WorkflowResumed   HistoryEventType = "workflow.resumed"
	// WorkflowWorkerLost says that Worker was lost while it had the run: its lease ended, or it let the run hang. Attempt counts the workers that
	// were lost in a row.
	WorkflowWorkerLost  HistoryEventType = "workflow.worker-lost"
	WorkflowQuarantined HistoryEventType = "workflow.quarantined" // too many workers were lost in a row
	WorkflowReleased    HistoryEventType = "workflow.released"    // from quarantine
	WorkflowLate        HistoryEventType = "workflow.late"        // its soft deadline Until has passed
	TaskLate            HistoryEventType = "task.late"
	// WorkflowDeadlineSet says that a deadline of the run was changed to Until, or removed; Data tells what SetDeadline asked for.
	WorkflowDeadlineSet  HistoryEventType = "workflow.deadline-set"
	WorkflowDeadlineKept HistoryEventType = "workflow.deadline-kept" // nothing has changed; Data says why
	TaskDeadlineSet      HistoryEventType = "task.deadline-set"
	TaskDeadlineKept     HistoryEventType = "task.deadline-kept"
	WorkflowRetried      HistoryEventType = "workflow.retried" // what waited for its next attempt goes on at once
	// WorkflowMigrated says that the run goes on with another definition; Data tells from which to which.
	WorkflowMigrated         HistoryEventType = "workflow.migrated"
	WorkflowMigrationRefused HistoryEventType = "workflow.migration-refused" // Data says why
	// WorkflowForked says that the run goes on from a task of another one: Data is the path of the task.
	WorkflowForked HistoryEventType = "workflow.forked"
	// WorkflowContinued begins the next run of the execution. A task that continues as new gives its input as Data.
	WorkflowContinued HistoryEventType = "workflow.continued"
	// WorkflowChildEnded says that the child Run has ended, which no task has waited for and which would have ended with the run.
	WorkflowChildEnded HistoryEventType = "workflow.child-ended"

	TaskStarted    HistoryEventType = "task.started"
	TaskCompleted  HistoryEventType = "task.completed"
	TaskFaulted    HistoryEventType = "task.faulted"   // the task raised Error; whether anything catches it follows
	TaskCancelled  HistoryEventType = "task.cancelled" // a fork's loser, or what ran in a scope that ended
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
	ResultLate     HistoryEventType = "result.late"    // came after its task had ended, and was not used
)

// OfCommand reports whether events of a type say that a command was carried out: they have its reason as Data, and its Actor.
func (t HistoryEventType) OfCommand() bool {
	switch t {
	case WorkflowCancelled, WorkflowSuspended, WorkflowResumed, WorkflowReleased, WorkflowRetried:
		return true
	}
	return false
}
