package dsl

import (
	"slices"
	"strings"
	"time"
)

// Kind is a kind of task. Its text is the name of its files in every package, such as call_http.
type Kind string

// Kinds returns every kind of task, sorted.
func Kinds() []Kind {
	kinds := callKinds()
	for _, run := range runKinds() {
		kinds = append(kinds, run.kind)
	}
	for _, k := range keywords() {
		if k.kind != "" {
			kinds = append(kinds, k.kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Words returns the kind as people write it: call http.
func (k Kind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Task is one task of a workflow: a pointer to one of this package's ...Task, Call... and Run... types. Rules, compiler and graphs use its traits, so
// that none of them contains a switch over kinds.
type Task interface {
	Base() *TaskBase
	Kind() Kind
	Traits() Traits

	parts(*walker)                                      // walks through the properties that only this kind has
	binds() []string                                    // the variables that output.as and export.as see besides the built-in variables
	jumps() (all []jump, exhaustive bool)               // its flow directives beside `then`; exhaustive: one of them always applies instead
	minDuration(*checker) time.Duration                 // without its own timeout and condition, if nothing fails
	mayComplete(*checker) bool                          // whether the flow may continue after it
	boundedLists(c *checker, inner scope) []boundedList // its lists, unless all of them are in the scope inside it
}

// Traits are the properties of a task that rules use instead of its kind. The zero value is a task that computes its output from its input.
type Traits struct {
	Group string // its name in extensions besides its kind: call, composite or run
	// Branches: its lists are the branches of a fork, each of which is a list of its own.
	Branches bool
	// First are the tasks that it runs first, for every input, and that receive its input; nil for none.
	First TaskList
	// Function is the name of a function that it runs.
	Function string
	// NextVersion is the version of the workflow with which it continues; empty if there is no next run, or for the same version.
	NextVersion string
	// Instant: it neither waits nor chooses where the flow continues.
	Instant bool
	// Unbounded: its duration depends on the other side.
	Unbounded bool
	// ChangesOutside: if it was started and its end is unknown, something outside may have changed.
	ChangesOutside bool
	// SendsInput: its input goes outside, and is not its output.
	SendsInput bool
	// ServerErrors: it may raise an error with any status of a server; AnyErrors: it may raise any error.
	ServerErrors, AnyErrors bool
	// RunsWorkflow: it runs another workflow.
	RunsWorkflow bool
	// LeavesChild: it starts a run that continues when the task does not wait for it any more.
	LeavesChild bool
	// Performed: a worker of its task queue performs it. Outside: an outside worker performs it, with the task's own retry.
	Performed, Outside bool
	// Program is the name of the process that it runs: command, script or container; empty for other tasks.
	Program string
	// Puts is the kind of output of such a process: text, code, or empty if it is neither.
	Puts string
	// KeptName is a name that stays in use outside after the end of the task.
	KeptName Value
	// Timeouts are its timeouts besides the timeout of every task.
	Timeouts []InnerTimeout
	// Retry specifies the attempts that it makes within itself.
	Retry InnerRetry
}

// InnerRetry specifies the attempts that a task makes within itself.
type InnerRetry struct {
	Policy *ActivityRetry // nil for one attempt
	Within *Duration      // maximum duration of all of them; nil for any duration
}

// InnerTimeout is a timeout of a part of a task; nil is no timeout.
type InnerTimeout struct {
	Timeout *Duration
	Within  []*Duration // the timeouts that end the part in any case
}

// jump is a flow directive and its place; then is empty if it is absent.
type jump struct {
	at   Pointer
	then string
}

// boundedList is a list of tasks with the scope in which it runs.
type boundedList struct {
	tasks TaskList
	scope scope
}

// TaskBase contains the properties of all tasks (DSL reference, "Task").
type TaskBase struct {
	Pointer  Pointer // of the task's object, for example /do/0/greet
	Name     string
	If       Expression
	Input    *Input
	Output   *Output
	Export   *Export
	Timeout  *Timeout
	Then     string // flow directive: continue, exit, end, a task's name, or empty when absent
	Metadata map[string]any
	Engine   TaskEngine // the content of metadata.swrun
}

// Base returns b, so that types which embed a TaskBase are Tasks. The methods below are the defaults for
// all kinds.
func (b *TaskBase) Base() *TaskBase { return b }

// Traits returns the traits of a task that computes its output from its input.
func (b *TaskBase) Traits() Traits { return Traits{} }

func (b *TaskBase) binds() []string                            { return nil }
func (b *TaskBase) jumps() (all []jump, exhaustive bool)       { return nil, false }
func (b *TaskBase) minDuration(*checker) time.Duration         { return 0 }
func (b *TaskBase) mayComplete(*checker) bool                  { return true }
func (b *TaskBase) boundedLists(*checker, scope) []boundedList { return nil }

// TaskList is a list of named tasks, in order.
type TaskList []Task

// index returns the position of the task called name, or -1.
func (l TaskList) index(name string) int {
	for i, t := range l {
		if t.Base().Name == name {
			return i
		}
	}
	return -1
}
