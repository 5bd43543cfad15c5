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
	Output       any    `json:"output" doc:"Of one that has completed."`
	Error        any    `json:"error,omitempty" data:"error" doc:"Of one that has faulted."`
	TimedOut     bool   `json:"timedOut,omitempty" doc:"It has faulted since a deadline of its own has passed."`
	InputRefused bool   `json:"inputRefused,omitempty" doc:"It has faulted since its input does not fit the document: no task has started."`
	Reason       string `json:"reason,omitempty" doc:"Why it was cancelled, if that was said."`
	NextRun      int    `json:"nextRun,omitempty" doc:"Of an earlier run of an execution: the number of the run that it has continued as."`
	NoWorker     bool   `json:"noWorker,omitempty" doc:"It has not ended, and no worker is there to take it."`
	EndsAt       string `json:"endsAt,omitempty" doc:"Of one that is quarantined: when a deadline ends it all the same."`
	HiddenData   bool   `json:"hiddenData,omitempty" data:"hidden" doc:"Whoever asks sees no data of runs: what holds any is left out."`
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
