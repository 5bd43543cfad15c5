package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

func callContinueAsNew() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindCallContinueAsNew, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		return &continueAsNewBody{input: b.Value(t.(*dsl.CallContinueAsNew).Input)}
	}}
}

// continueAsNewBody begins the next run of the execution (semantics 10.8).
type continueAsNewBody struct {
	input *expr.Template // nil passes the task's own input on
}

func (c *continueAsNewBody) Enter(s *interpreter.Scope) interpreter.Next {
	input := s.Input()
	if c.input != nil {
		var err *errors.Error
		if input, err = s.Eval(c.input, s.Input()); err != nil {
			return interpreter.Fail(err)
		}
	}
	return interpreter.ContinueAsNew(input)
}
