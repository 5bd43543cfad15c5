package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

func callContinueAsNew() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindCallContinueAsNew, Route: interpreter.RouteDefinition, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		task := t.(*dsl.CallContinueAsNew)
		if own := b.Workflow().Document; task.Version != "" {
			b.Runs(interpreter.WorkflowName{Namespace: own.Namespace, Name: own.Name, Version: task.Version})
		}
		return &continueAsNewBody{version: task.Version, input: b.Value(task.Input)}
	}}
}

// continueAsNewBody begins the next run of the execution (semantics 10.8).
type continueAsNewBody struct {
	version string         // of the workflow in the next run; empty for the definition of this one
	input   *expr.Template // nil passes the task's own input on
}

func (c *continueAsNewBody) Enter(s *interpreter.Scope) interpreter.Next {
	if c.version != "" {
		return interpreter.Perform(interpreter.DefinitionRequest{Version: c.version})
	}
	return c.begin(s)
}

// Finish begins the next run when its definition has been found.
func (c *continueAsNewBody) Finish(s *interpreter.Scope, _ any) interpreter.Next { return c.begin(s) }

func (c *continueAsNewBody) begin(s *interpreter.Scope) interpreter.Next {
	input := s.Input()
	if c.input != nil {
		var err *errors.Error
		if input, err = s.Eval(c.input, s.Input()); err != nil {
			return interpreter.Fail(err)
		}
	}
	return interpreter.ContinueAsNew(input)
}
