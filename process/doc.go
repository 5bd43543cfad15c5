// Package process runs commands and scripts, each below a supervisor: a process of our own executable that runs one
// job at a time, limits the job's output, and ends every process that the job has started. A supervisor whose parent is
// gone does the same, so that nothing outlives the program, whatever has ended it.
//
// Pool is the program's side, Supervise the supervisor's. They exchange messages of encoding/gob over the supervisor's
// standard input and output; the end of its input orders the supervisor to end.
package process

import (
	"fmt"
	"time"
)

// Job is one command or script.
type Job struct {
	// Path is the program of a command. Arguments are its argv, which begins with its name; Folder in an argument stands for
	// the path of the folder with Files.
	Path      string
	Arguments []string
	Files     map[string]string
	// Script, if it is not nil, runs in place of a command.
	Script *Script

	Environment []string
	Stdin       []byte
	MaxOutput   int           // bytes of standard output, and of standard error
	KillAfter   time.Duration // between SIGTERM and SIGKILL
}

// Folder stands for the folder with the files of a job, which is removed when the job has ended.
const Folder = "\x00"

// Script is JavaScript for the embedded engine.
type Script struct {
	Code      string
	Arguments []string
	Variables map[string]string // the environment that the script sees
	Globals   []byte            // a JSON object, or nothing
}

// Result is how a job ended by itself. If a signal has ended it, the code is 128 plus the signal's number, as in shells.
type Result struct {
	ExitCode       int
	Stdout, Stderr []byte
}

// LimitError says that a job was ended because it wrote more than it may.
type LimitError struct {
	Stream string // stdout or stderr
	Max    int    // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("it was ended because it wrote more than %d bytes to %s", e.Max, e.Stream)
}

// StartError says that a job could not be started.
type StartError struct{ Reason string }

func (e *StartError) Error() string { return e.Reason }

// CrashError says that a supervisor ended without an order: by a script that crashes the engine, or by a signal.
type CrashError struct {
	Reason      string
	OutOfMemory bool // it used more memory than it may
}

func (e *CrashError) Error() string { return e.Reason }

// reply is a supervisor's answer to a job.
type reply struct {
	Result  Result
	Start   *StartError
	Limit   *LimitError
	Exiting bool // the supervisor ends and takes no other job, because it could not end all processes of this one
}

func (r reply) result() (Result, error) {
	switch {
	case r.Start != nil:
		return Result{}, r.Start
	case r.Limit != nil:
		return Result{}, r.Limit
	}
	return r.Result, nil
}
