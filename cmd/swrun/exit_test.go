package main

import (
	"syscall"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

func TestExitCodes(t *testing.T) {
	faulted := func(e *errors.Error) execution.Outcome {
		return execution.Outcome{Status: interpreter.StatusFaulted, Fault: e}
	}
	timedOut := func(e *errors.Error) execution.Outcome {
		return execution.Outcome{Status: interpreter.StatusFaulted, Fault: e, TimedOut: true}
	}
	for _, c := range []struct {
		name    string
		outcome execution.Outcome
		started bool
		signal  syscall.Signal
		want    int
	}{
		{"completed", execution.Outcome{Status: interpreter.StatusCompleted}, true, 0, 0},
		{"completed although a signal came", execution.Outcome{Status: interpreter.StatusCompleted}, true, syscall.SIGINT, 0},
		{"faulted", faulted(errors.Runtimef("x")), true, 0, 10},
		{"the input is refused", faulted(errors.Validationf("x").At("/")), false, 0, 4},
		{"the output is refused", faulted(errors.Validationf("x").At("/")), true, 0, 10},
		{"a task's input is refused", faulted(errors.Validationf("x").At("/do/0/a")), true, 0, 10},
		{"timed out", timedOut(errors.Timeoutf("x").At("/do/0/a")), true, 0, 124},
		{"an error that says it is a timeout", faulted(errors.Timeoutf("x").At("/").With("timeoutKind", "workflow")), true, 0, 10},
		{"timed out, in the other spelling", timedOut(&errors.Error{Type: errors.BaseOpenWorkflow + "timeout", Status: 408}), true, 0, 124},
		{"cancelled", execution.Outcome{Status: interpreter.StatusCancelled}, true, 0, 11},
		{"interrupted", execution.Outcome{Status: interpreter.StatusCancelled}, true, syscall.SIGINT, 130},
		{"terminated", execution.Outcome{Status: interpreter.StatusCancelled}, true, syscall.SIGTERM, 143},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outcomeExit(api.NewRunOutcome(store.Instance{}, c.outcome, c.started), nil)
			if c.signal != 0 {
				got = outcomeExit(api.NewRunOutcome(store.Instance{}, c.outcome, c.started), c.signal)
			}
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
