package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

func set() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindSet, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		return &setBody{value: b.Value(t.(*dsl.SetTask).Set)}
	}}
}

// setBody replaces the data; all values see the same input (semantics 4.1).
type setBody struct {
	value *expr.Template
}

func (b *setBody) Enter(s *interpreter.Scope) interpreter.Next {
	output, err := s.Eval(b.value, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Done(output)
}
