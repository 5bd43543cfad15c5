package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

func do() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindDo, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		return &doBody{list: b.List("do", t.(*dsl.DoTask).Do)}
	}}
}

type doBody struct {
	list *interpreter.List
}

func (d *doBody) Enter(s *interpreter.Scope) interpreter.Next {
	return interpreter.Run(d.list, s.Input(), interpreter.Repetition{}, nil)
}

func (d *doBody) ChildDone(_ *interpreter.Scope, c interpreter.Child) interpreter.Next {
	return interpreter.Done(c.Output)
}

func (d *doBody) ChildFailed(_ *interpreter.Scope, err *errors.Error) interpreter.Next {
	return interpreter.Fail(err)
}
