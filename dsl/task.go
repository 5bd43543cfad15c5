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

// Task is one task of a workflow: a pointer to one of this package's ...Task, Call... and Run... types. Rules,
// compiler and graphs ask it for its traits, so that none of them has a switch over kinds.
type Task interface {
	Base() *TaskBase
	Kind() Kind
	Traits() Traits

	parts(*walker)                                      // walks through the properties that only this kind has
	binds() []string                                    // the variables that output.as and export.as see besides the built-in ones
	jumps() (all []jump, exhaustive bool)               // its flow directives beside `then`; exhaustive: one of them always applies instead
	minDuration(*checker) time.Duration                 // without its own timeout and condition, if nothing fails
	mayComplete(*checker) bool                          // whether the flow may continue after it
	boundedLists(c *checker, inner scope) []boundedList // its lists, unless all of them are in the scope inside it
}

// Traits are what rules need to know of a task instead of its kind. The zero value is a task that computes its output from
// its input.
type Traits struct {
	Group string // what extensions call it, if not by its kind: call, composite or run
	// Branches: its lists are the branches of a fork, each of which is a list of its own.
	Branches bool
	// First are the tasks that it runs first, whatever its input is, and that get its input; nil for none.
	First TaskList
	// Function is the name of a function that it runs.
	Function string
	// NextVersion is the version of the workflow as which it continues; empty for none, or the same.
	NextVersion string
	// Instant: it neither waits nor decides where the flow goes on.
	Instant bool
	// Unbounded: it may take as long as the other side wants.
	Unbounded bool
	// ChangesOutside: when it was started and its end is not known, something outside may have changed.
	ChangesOutside bool
	// SendsInput: its input goes outside, and is not its output.
	SendsInput bool
	// ServerErrors: it may raise an error with any status that a server answers; AnyErrors: it may raise any error.
	ServerErrors, AnyErrors bool
	// RunsWorkflow: it runs another workflow.
	RunsWorkflow bool
	// LeavesChild: it starts a run that goes on when the task does not wait for it any more.
	LeavesChild bool
	// Performed: a worker performs it, one that takes its task queue. Outside: an outside worker does, as often as the task's own retry says.
	Performed, Outside bool
	// Program is what runs as a process of its own, in words: command, script or container; empty for other tasks.
	Program string
	// Puts is what the output of such a process is: text, code, or empty if it is neither.
	Puts string
	// KeptName is the name that something outside keeps when the task has ended.
	KeptName Value
	// Timeouts are those that it has besides the one of every task.
	Timeouts []InnerTimeout
	// Retry is how attempts follow each other that it makes within itself.
	Retry InnerRetry
}

// InnerRetry is how the attempts follow each other that a task makes within itself.
type InnerRetry struct {
	Policy *ActivityRetry // nil for one attempt
	Within *Duration      // how long all of them may take; nil for any time
}

// InnerTimeout is a timeout of a part of a task; nil is none.
type InnerTimeout struct {
	Timeout *Duration
	Within  []*Duration // the timeouts that end the part in any case
}

// jump is a flow directive and where it stands; then is empty if it is absent.
type jump struct {
	at   Pointer
	then string
}

// boundedList is a list of tasks with the scope that it runs in.
type boundedList struct {
	tasks TaskList
	scope scope
}

// TaskBase is what all tasks share (DSL reference, "Task").
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
	Engine   TaskEngine // what metadata.swrun says
}

// Base returns b, so that types which embed a TaskBase are Tasks. The methods below are the defaults for
// all kinds.
func (b *TaskBase) Base() *TaskBase { return b }

// Traits returns those of a task that computes its output from its input.
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
