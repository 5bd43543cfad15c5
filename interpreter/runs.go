package interpreter

import (
	"cmp"
	"slices"

	"github.com/swrun/swrun/dsl"
)

// WorkflowName is the workflow that a task runs.
type WorkflowName struct {
	Namespace, Name string
	Version         string // a semantic version or "latest"
}

// WorkflowRun is a workflow that a task runs.
type WorkflowRun struct {
	WorkflowName
	// At is the task, which may be in a remote function.
	At dsl.Pointer
	// Task is in the document. It runs the workflow, or it calls a remote function with a task that runs the workflow.
	Task dsl.Pointer
	// Function is the place of that function; empty if the task is in the document.
	Function string
}

// Runs notes that the task runs a workflow as a separate run, or continues the run as that workflow.
func (b *Builder) Runs(w WorkflowName) {
	p, task := b.c.program, b.node.task.Base().Pointer
	if slices.ContainsFunc(p.runs, func(r WorkflowRun) bool { return r.WorkflowName == w && r.At == task }) { // of a function that is compiled twice
		return
	}
	p.runs = append(p.runs, WorkflowRun{w, task, cmp.Or(b.c.caller, task), b.c.base})
}

// Runs returns the workflows that the tasks of the program run or continue as, each task once. The tasks of called functions and of extensions count.
func (p *Program) Runs() []WorkflowRun { return slices.Clone(p.runs) }
