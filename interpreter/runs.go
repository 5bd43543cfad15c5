package interpreter

import "slices"

// WorkflowName is the workflow that a task runs.
type WorkflowName struct {
	Namespace, Name string
	Version         string // a semantic version or "latest"
}

// Runs notes that the task runs a workflow as a run of its own, or has the run continue as one.
func (b *Builder) Runs(w WorkflowName) {
	if p := b.c.program; !slices.Contains(p.runs, w) {
		p.runs = append(p.runs, w)
	}
}

// Runs returns the workflows that the tasks of the program run or continue as, each once. The tasks of called functions and of extensions count.
func (p *Program) Runs() []WorkflowName { return slices.Clone(p.runs) }
