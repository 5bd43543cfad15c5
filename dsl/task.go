package dsl

import "strings"

// Kind is a kind of task, spelt as its stem: the name of its file in every package.
type Kind string

// The kinds of tasks.
const (
	KindCallA2A      Kind = "call_a2a"
	KindCallAsyncAPI Kind = "call_asyncapi"
	KindCallFunction Kind = "call_function"
	KindCallGRPC     Kind = "call_grpc"
	KindCallHTTP     Kind = "call_http"
	KindCallMCP      Kind = "call_mcp"
	KindCallOpenAPI  Kind = "call_openapi"
	KindDo           Kind = "do"
	KindEmit         Kind = "emit"
	KindFor          Kind = "for"
	KindFork         Kind = "fork"
	KindListen       Kind = "listen"
	KindRaise        Kind = "raise"
	KindRunContainer Kind = "run_container"
	KindRunScript    Kind = "run_script"
	KindRunShell     Kind = "run_shell"
	KindRunWorkflow  Kind = "run_workflow"
	KindSet          Kind = "set"
	KindSwitch       Kind = "switch"
	KindTry          Kind = "try"
	KindWait         Kind = "wait"
)

// Kinds returns every kind of task, sorted.
func Kinds() []Kind {
	return []Kind{
		KindCallA2A, KindCallAsyncAPI, KindCallFunction, KindCallGRPC, KindCallHTTP, KindCallMCP, KindCallOpenAPI,
		KindDo, KindEmit, KindFor, KindFork, KindListen, KindRaise,
		KindRunContainer, KindRunScript, KindRunShell, KindRunWorkflow,
		KindSet, KindSwitch, KindTry, KindWait,
	}
}

// Words returns the kind as people write it: call http.
func (k Kind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Task is one task of a workflow: a pointer to one of this package's ...Task, Call... and Run... types.
type Task interface {
	Base() *TaskBase
	Kind() Kind
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

// Base returns b, so that types which embed a TaskBase are Tasks.
func (b *TaskBase) Base() *TaskBase { return b }

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
