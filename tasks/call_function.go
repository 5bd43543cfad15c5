package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

func callFunction() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindCallFunction, Compile: compileCallFunction}
}

func compileCallFunction(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallFunction)
	function, ok := b.Workflow().Use.Functions[call.Function]
	body := &callFunctionBody{with: b.Value(call.With)}
	switch {
	case ok:
		body.body = b.Function(function.Base().Pointer, function)
		return body
	case !call.IsRemote():
		b.Add(call.Reference().Undefined())
		return nil
	}
	if at := locateFunction(b, call.Pointer.Key("call"), call.Function); at != nil {
		body.body = b.RemoteFunction(at)
	}
	return body
}

// callFunctionBody runs the function's task as if it were at the place of the call. The function sees its arguments and not the caller's data
// (semantics 12.2).
type callFunctionBody struct {
	with *expr.Template // nil passes an empty object
	body *interpreter.List
}

func (c *callFunctionBody) Enter(s *interpreter.Scope) interpreter.Next {
	if err := s.Limits().Check(limits.Calls, s.CallDepth()); err != nil {
		return interpreter.Fail(err)
	}
	input := any(map[string]any{})
	if c.with != nil {
		var err *errors.Error
		if input, err = s.Eval(c.with, s.Input()); err != nil {
			return interpreter.Fail(err)
		}
	}
	return interpreter.Run(c.body, input, interpreter.Repetition{}, nil)
}

func (c *callFunctionBody) ChildDone(_ *interpreter.Scope, child interpreter.Child) interpreter.Next {
	return interpreter.Done(child.Output)
}

func (c *callFunctionBody) ChildFailed(_ *interpreter.Scope, err *errors.Error) interpreter.Next {
	return interpreter.Fail(err)
}
