package interpreter

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Record is one entry of a run's typed history: what a step did. Records of one run are numbered 1, 2, 3... by Seq.
type Record struct {
	Seq     int         `json:"seq"`
	At      time.Time   `json:"at"`
	Type    RecordType  `json:"type"`
	Kind    dsl.Kind    `json:"kind,omitempty"`    // of the task; empty for the workflow
	Pointer dsl.Pointer `json:"pointer,omitempty"` // of the task; empty for the workflow
	Path    Path        `json:"path,omitempty"`    // occurrence of the task
	Origin  dsl.Pointer `json:"origin,omitempty"`  // where the task stands in the document, if that is not Pointer
	Effect  EffectID    `json:"effect,omitempty"`  // that started, finished or came late
	Attempt int         `json:"attempt,omitempty"` // of the effect or, for RetryScheduled, of the attempt to come

	// Data is the raw input of what started, or the output of what completed.
	Data any `json:"data,omitempty"`
	// Error is why something faulted, was caught, or was cancelled.
	Error *errors.Error `json:"error,omitempty"`
	// By is the pointer of the try that caught Error.
	By dsl.Pointer `json:"by,omitempty"`
	// Until is when a wait or retry delay ends, or the deadline of what started.
	Until time.Time `json:"until,omitzero"`
	// Timeout is the kind of the deadline whose passing is Error; empty if Error is anything else, whatever it says.
	Timeout string `json:"timeout,omitempty"`
	// Deadlines are the run's own, of what starts it.
	Deadlines []Deadline `json:"deadlines,omitempty"`
}

// RecordType is what a Record tells.
type RecordType string

// The record types.
const (
	WorkflowStarted   RecordType = "workflow.started"
	WorkflowCompleted RecordType = "workflow.completed"
	WorkflowFaulted   RecordType = "workflow.faulted"
	WorkflowCancelled RecordType = "workflow.cancelled"
	WorkflowSuspended RecordType = "workflow.suspended"
	WorkflowResumed   RecordType = "workflow.resumed"
	TaskStarted       RecordType = "task.started"
	TaskCompleted     RecordType = "task.completed"
	TaskFaulted       RecordType = "task.faulted"   // the task raised Error; whether anything catches it follows
	TaskCancelled     RecordType = "task.cancelled" // a fork's loser, or what ran in a scope that ended
	TaskSkipped       RecordType = "task.skipped"   // its if was false
	TaskWaiting       RecordType = "task.waiting"   // until Until
	ErrorCaught       RecordType = "error.caught"   // Error was caught by the try By
	RetryScheduled    RecordType = "retry.scheduled"
	EffectStarted     RecordType = "effect.started"
	EffectFinished    RecordType = "effect.finished"
	ResultLate        RecordType = "result.late" // came after its task had ended, and was not used
)
