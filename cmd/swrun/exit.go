package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
)

// The exit codes. 12 is reserved for a verb that does not exist yet.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitInvalid     = 3
	exitInput       = 4
	exitNotFound    = 5
	exitConflict    = 6
	exitStore       = 7
	exitWaited      = 8
	exitUnsupported = 9
	exitFaulted     = 10
	exitCancelled   = 11
	exitFindings    = 13
	exitTimeout     = 124
	exitInterrupt   = 130
	exitTerminate   = 143
)

// exitCode is an exit code for people: in a few words, and in full.
type exitCode struct {
	code         int
	title, story string
}

// exitCodes returns all exit codes.
func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, "fine", "The command succeeded: the run is completed, the document is valid."},
		{exitInternal, "internal error", "Something outside of swrun failed, such as a full disk, or swrun has a bug: please report bugs."},
		{exitUsage, "wrong use", "The command line is wrong: a verb, a flag or a value does not exist or is empty, or the URL is not valid for a store. Nothing was done."},
		{exitInvalid, "invalid document", "The document has errors, each of them shown at its line. Nothing was run."},
		{exitInput, "input refused", "The input does not fit input.schema of the document. No task was run."},
		{exitNotFound, "not found", "The named thing does not exist: a file (or the name is not valid for a file), a run, a deployed workflow, or a code that explain knows."},
		{exitConflict, "conflict", "Something else exists already: another run with the same id, another document with the same version, or a run in a state that the verb does not accept."},
		{exitStore, "no store", "The store cannot be opened or used; swrun doctor shows why."},
		{exitWaited, "stopped waiting", "The run is still in progress and continues; or a run in memory listens for events, and no event is left."},
		{exitUnsupported, "valid, but not run by this build", "The document is valid, but this build of swrun cannot run a feature that it uses; SW801 names the feature. Nothing was run."},
		{exitFaulted, "faulted", "The run ended with an error that no task of it caught."},
		{exitCancelled, "cancelled", "The run was cancelled or terminated."},
		{exitFindings, "findings (--strict, --check, --check-runs)", "lint --strict found a warning, fmt --check a file that is not formatted, or deploy --check-runs --dry-run a run that cannot migrate."},
		{exitTimeout, "timed out", "The run ended with a timeout that no task of it caught."},
		{exitInterrupt, "interrupted by Ctrl-C", "A signal ended the command. A run with --id is kept, and continues when it is run again."},
		{exitTerminate, "interrupted by SIGTERM", "A signal ended the command. A run with --id is kept, and continues when it is run again."},
	}
}

// exitLine lists the exit codes for the help.
func exitLine() string {
	var all []string
	for _, c := range exitCodes() {
		all = append(all, fmt.Sprintf("%d %s", c.code, c.title))
	}
	return "Exit codes: " + strings.Join(all, ", ") + "."
}

// exitError ends the program with a code. An empty message means that everything was printed already.
type exitError struct {
	code    int
	message string
	hint    string
	// commands is the hint with the flags that its commands need to use the same store or server; nil if they need none.
	commands func(target string) string
}

// aimed completes the commands of a hint with the flags that they need to use the same store or server as this command.
func aimed(err error, target string) error {
	var exit *exitError
	if errors.As(err, &exit) && exit.commands != nil {
		exit.hint = exit.commands(target)
	}
	return err
}

func (e *exitError) Error() string { return e.message }

// exitOf returns the exit of an error, by default an internal error.
func exitOf(err error) *exitError {
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{code: exitInternal, message: err.Error()}
	}
	return exit
}

func quietExit(code int) error { return &exitError{code: code} }

func usagef(hint, format string, args ...any) error {
	return &exitError{code: exitUsage, message: fmt.Sprintf(format, args...), hint: hint}
}

// fileError returns the error of a file that could not be read or written, with the reason.
func fileError(what string, err error) error {
	if errors.As(err, new(*exitError)) {
		return err
	}
	code := exitInternal
	if slices.ContainsFunc(notThere(), func(reason error) bool { return errors.Is(err, reason) }) {
		code = exitNotFound
	}
	return &exitError{code: code, message: fmt.Sprintf("%s: %s", what, err)}
}

// notThere returns the errors of missing files, including errors of names that no file can have.
func notThere() []error {
	return []error{os.ErrNotExist, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP}
}

// signalExit returns the exit code for a signal that ended the program.
func signalExit(s os.Signal) int {
	if s == syscall.SIGTERM {
		return exitTerminate
	}
	return exitInterrupt
}

// documentExit returns the exit code for diagnostics of documents.
func documentExit(found dsl.Diagnostics) int {
	errs := found.Errors()
	switch {
	case len(errs) == 0:
		return exitOK
	case onlyUnsupported(errs):
		return exitUnsupported
	}
	return exitInvalid
}

// onlyUnsupported reports whether the only errors of a document are that this build cannot run it.
func onlyUnsupported(found dsl.Diagnostics) bool {
	errs := found.Errors()
	return len(errs) > 0 && !slices.ContainsFunc(errs, func(d dsl.Diagnostic) bool { return d.Code != "SW801" })
}

// outcomeExit returns the exit code for the outcome of a run.
func outcomeExit(o api.RunOutcome, interrupted os.Signal) int {
	switch {
	case o.Status == string(interpreter.StatusCompleted):
		return exitOK
	case interrupted != nil:
		return signalExit(interrupted)
	case o.Status == string(interpreter.StatusCancelled):
		return exitCancelled
	case o.Error == nil:
		return exitInternal
	case o.TimedOut:
		return exitTimeout
	case o.InputRefused:
		return exitInput
	}
	return exitFaulted
}
