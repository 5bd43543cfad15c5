package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

func raise() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindRaise, Compile: compileRaise}
}

func compileRaise(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	task := t.(*dsl.RaiseTask)
	if expr.Delimited(task.Use.Text()) {
		return &raiseBody{whole: b.Value(task.Use)}
	}
	definition := b.Workflow().ErrorOf(task)
	if definition == nil {
		b.Add(task.Reference().Undefined())
		return nil
	}
	return &raiseBody{whole: b.Value(definition.Value())}
}

// raiseBody raises an error. It sets only the given members, and the instance, whose default is the task's pointer (semantics 7.13).
type raiseBody struct {
	whole *expr.Template // yields the error as an object
}

func (r *raiseBody) Enter(s *interpreter.Scope) interpreter.Next {
	v, err := s.Eval(r.whole, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	raised, invalid := errors.FromValue(v)
	if invalid != nil {
		var path []any
		var member *errors.MemberError
		if errors.As(invalid, &member) {
			path = append(path, member.Name)
		}
		return interpreter.Fail(s.WithExpression(errors.Expressionf("raise.error does not yield an error: %s", invalid), r.whole, path...))
	}
	return interpreter.Fail(raised)
}
