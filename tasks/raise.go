package tasks

import (
	"fmt"

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
	at := task.Pointer.Key("raise").Key("error")
	if expr.Delimited(task.Use) {
		return &raiseBody{whole: b.Text(at, task.Use)}
	}
	definition := b.Workflow().ErrorOf(task)
	if definition == nil {
		b.Report("SW203", at, fmt.Sprintf("`%s` is not among use.errors", task.Use))
		return nil
	}
	if task.Use != "" {
		at = definition.Pointer
	}
	members := map[string]any{"type": definition.Type, "status": definition.Status}
	for name, text := range map[string]string{
		"title": definition.Title, "detail": definition.Detail, "instance": definition.Instance,
	} {
		if text != "" { // absent
			members[name] = text
		}
	}
	return &raiseBody{whole: b.Template(at, members)}
}

// raiseBody raises an error; only what is given is set, but for the instance, which is the task's pointer
// (semantics 7.13).
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
		return interpreter.Fail(s.Unfit(errors.Expressionf("what raise.error yields is no error: %s", invalid), r.whole, path...))
	}
	return interpreter.Fail(raised)
}
