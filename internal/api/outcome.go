package api

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// RunOutcome is the outcome of a run, or the reason why it is still in progress.
type RunOutcome struct {
	Run          string `json:"run"`
	Ended        bool   `json:"ended"`
	Status       string `json:"status" doc:"The phase of the run, or quarantined."`
	Output       any    `json:"output" doc:"The output of a completed run."`
	Error        any    `json:"error,omitempty" data:"error" doc:"The error of a faulted run."`
	TimedOut     bool   `json:"timedOut,omitempty" doc:"The run faulted because one of its own deadlines passed."`
	InputRefused bool   `json:"inputRefused,omitempty" doc:"The run faulted because its input does not match the schema of the document. No task started."`
	Reason       string `json:"reason,omitempty" doc:"The reason of the cancellation, if one was given."`
	NextRun      int    `json:"nextRun,omitempty" doc:"Of an earlier run of an execution: the number of the run that it has continued as."`
	NoWorker     bool   `json:"noWorker,omitempty" doc:"The run is open, and no worker is present to take it."`
	EndsAt       string `json:"endsAt,omitempty" doc:"The time at which a deadline ends the quarantined run."`
	HiddenData   bool   `json:"hiddenData,omitempty" data:"hidden" doc:"The token of the caller hides the data of runs. Members with data are omitted."`
}

// NewRunOutcome returns the JSON of the outcome of a run. A run refuses its input before it starts any task.
func NewRunOutcome(i store.Instance, o execution.Outcome, tasksStarted bool) RunOutcome {
	outcome := RunOutcome{
		Run: i.String(), Ended: true, Status: string(o.Status), Output: o.Output, Error: Error(o.Fault), TimedOut: o.TimedOut, Reason: o.Reason,
	}
	if o.Fault != nil && !o.TimedOut {
		outcome.InputRefused = errors.Same(o.Fault.Type, errors.Validation) && o.Fault.Instance == "/" && !tasksStarted
	}
	return outcome
}

// Outcome returns the outcome that NewRunOutcome was given.
func (o *RunOutcome) Outcome() execution.Outcome {
	return execution.Outcome{
		ID: store.InstanceOf(o.Run).ID, Status: interpreter.Status(o.Status), Output: o.Output,
		Fault: ParseError(o.Error), Reason: o.Reason, TimedOut: o.TimedOut,
	}
}

// NewContinuedOutcome returns the JSON of an earlier run of an execution, which has no outcome of its own.
func NewContinuedOutcome(i store.Instance, number int) RunOutcome {
	return RunOutcome{Run: i.String(), Ended: true, Status: client.Continued, NextRun: number + 1}
}
