package runtime

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// This file tells parents about the workflows that they run.

// ChildID returns the id of the child workflow that an instance starts with a task.
func ChildID(parent Instance, task interpreter.Path) string { return childID(parent, task) }

// started returns the child workflow that a task has started and waits for.
func (d *Description) started(o interpreter.Open) Instance {
	child := Instance{d.Instance.Namespace, childID(d.Instance, o.Path)}
	dsl.Walk(d.Program.Workflow, func(t dsl.Task) bool {
		if r, ok := t.(*dsl.RunWorkflow); ok && r.Pointer == o.Origin {
			child.Namespace = r.Namespace
		}
		return true
	})
	return child
}
