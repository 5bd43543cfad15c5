// Package process runs commands and scripts, each below a supervisor: a process of our own executable that runs one
// job at a time, keeps what it writes within bounds, and ends everything that the job has started. A supervisor that
// loses its parent does the same, so that nothing outlives the program, whatever has ended it.
//
// Pool is the side of the program, Supervise the side of the supervisor. They speak by messages of encoding/gob over
// the supervisor's standard input and output; the end of its input is the order to end.
package process

import (
	"fmt"
	"time"
)

// Job is one command or script.
type Job struct {
	// Path is the program of a command, and Arguments are its argv from its name on. Folder in an argument stands for
	// the folder with Files.
	Path      string
	Arguments []string
	Files     map[string]string
	// Script, if there is one, runs in place of a command.
	Script *Script

	Environment []string
	Stdin       []byte
	MaxOutput   int           // bytes of standard output, and of standard error
	Grace       time.Duration // between SIGTERM and SIGKILL
}

// Folder stands for the folder with the files of a job, which is gone when the job has ended.
const Folder = "\x00"

// Script is JavaScript for the embedded engine.
type Script struct {
	Code      string
	Arguments []string
	Variables map[string]string // the environment as the script sees it
	Globals   []byte            // a JSON object, or nothing
}

// Result is how a job ended by itself. A job that a signal has ended has the code that shells tell: 128 and its number.
type Result struct {
	ExitCode       int
	Stdout, Stderr []byte
}

// LimitError is the end of a job that wrote more than it may.
type LimitError struct {
	Stream string // stdout or stderr
	Max    int    // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("it was ended because it wrote more than %d bytes to %s", e.Max, e.Stream)
}

// StartError tells that a job could not be started.
type StartError struct{ Reason string }

func (e *StartError) Error() string { return e.Reason }

// CrashError is the end of a supervisor by anything but its order: a script that breaks the engine, or somebody's signal.
type CrashError struct {
	Reason      string
	OutOfMemory bool // it needed more memory than it may have
}

func (e *CrashError) Error() string { return e.Reason }

// reply is what a supervisor says of a job.
type reply struct {
	Ended Result
	Start *StartError
	Limit *LimitError
	Spent bool // the supervisor ends, and takes no other job
}

func (r reply) result() (Result, error) {
	switch {
	case r.Start != nil:
		return Result{}, r.Start
	case r.Limit != nil:
		return Result{}, r.Limit
	}
	return r.Ended, nil
}
