package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

func choose() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindSwitch, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		body := &switchBody{}
		for _, c := range t.(*dsl.SwitchTask).Cases {
			then := b.Jump(c.Pointer, c.Then)
			if c.When.Text == "" {
				body.otherwise = then
				continue
			}
			body.cases = append(body.cases, switchCase{b.Condition(c.When), then})
		}
		return body
	}}
}

// switchBody takes the first case that holds. The case without a condition is the last resort, regardless of its position. Without such a case, the
// task's own flow directive applies (semantics 4.2, 4.3).
type switchBody struct {
	cases     []switchCase
	otherwise *interpreter.Jump
}

type switchCase struct {
	when *expr.Code
	then *interpreter.Jump
}

func (b *switchBody) Enter(s *interpreter.Scope) interpreter.Next {
	for _, c := range b.cases {
		holds, err := s.EvalCondition(c.when, s.Input(), false)
		if err != nil {
			return interpreter.Fail(err)
		}
		if holds {
			return interpreter.Direct(s.Input(), c.then)
		}
	}
	return interpreter.Direct(s.Input(), b.otherwise)
}
