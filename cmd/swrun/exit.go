package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime"
)

// The exit codes (ux.md 1.3). 12 belongs to a verb that is not here yet.
const (
	exitOK        = 0
	exitInternal  = 1
	exitUsage     = 2
	exitInvalid   = 3
	exitInput     = 4
	exitNotFound  = 5
	exitConflict  = 6
	exitStore     = 7
	exitWaited    = 8
	exitFaulted   = 10
	exitCancelled = 11
	exitFindings  = 13
	exitTimeout   = 124
	exitInterrupt = 130
	exitTerminate = 143
)

// exitError ends the program with a code. An empty message means that all has been said.
type exitError struct {
	code    int
	message string
	hint    string
}

func (e *exitError) Error() string { return e.message }

func quietExit(code int) error { return &exitError{code: code} }

func usagef(hint, format string, args ...any) error {
	return &exitError{code: exitUsage, message: fmt.Sprintf(format, args...), hint: hint}
}

// fileError tells that a file which was named could not be read.
func fileError(what string, err error) error {
	code := exitInternal
	if errors.Is(err, os.ErrNotExist) {
		code = exitNotFound
	}
	return &exitError{code: code, message: fmt.Sprintf("%s cannot be read: %s", what, err)}
}

// signalExit is the code for a signal that ended the program.
func signalExit(s os.Signal) int {
	if s == syscall.SIGTERM {
		return exitTerminate
	}
	return exitInterrupt
}

// outcomeExit returns the code for how a run ended. A run rejects its input before it has started any task.
func outcomeExit(o runtime.Outcome, tasksStarted bool, interrupted os.Signal) int {
	switch {
	case o.Status == interpreter.StatusCompleted:
		return exitOK
	case interrupted != nil:
		return signalExit(interrupted)
	case o.Status == interpreter.StatusCancelled:
		return exitCancelled
	case o.Fault == nil:
		return exitInternal
	case errors.Same(o.Fault.Type, errors.Timeout):
		return exitTimeout
	case errors.Same(o.Fault.Type, errors.Validation) && o.Fault.Instance == "/" && !tasksStarted:
		return exitInput
	}
	return exitFaulted
}
