package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

func runWorkflow() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindRunWorkflow, Route: interpreter.RouteChild, Shared: true, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		task := t.(*dsl.RunWorkflow)
		b.Runs(interpreter.WorkflowName{Namespace: task.Namespace, Name: task.Workflow, Version: task.Version})
		return &runWorkflowBody{task: task, input: b.Value(task.With)}
	}}
}

// runWorkflowBody requests a run of another workflow from its driver (semantics 10.7).
type runWorkflowBody struct {
	task  *dsl.RunWorkflow
	input *expr.Template // nil passes the task's own input on
}

func (r *runWorkflowBody) Enter(s *interpreter.Scope) interpreter.Next {
	if err := s.Limits().Check(limits.Starts, s.Depth()+1); err != nil {
		return interpreter.Fail(err)
	}
	input := s.Input()
	if r.input != nil {
		var err *errors.Error
		if input, err = s.Eval(r.input, s.Input()); err != nil {
			return interpreter.Fail(err)
		}
	}
	request := interpreter.ChildRequest{
		Namespace: r.task.Namespace, Name: r.task.Workflow, Version: r.task.Version, Input: interpreter.Value{V: input},
		ParentClose: r.task.Engine.ParentClose,
	}
	if r.task.Detached {
		return interpreter.Detach(request, s.Input()).Sharing(input)
	}
	return interpreter.Perform(request).Sharing(input)
}

func (r *runWorkflowBody) Finish(s *interpreter.Scope, output any) interpreter.Next {
	if r.task.Return == "none" {
		return interpreter.Done(s.Input())
	}
	return interpreter.Done(output)
}
