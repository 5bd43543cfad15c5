package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

func wait() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindWait, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		return &waitBody{duration: b.Duration(t.(*dsl.WaitTask).Wait)}
	}}
}

type waitBody struct {
	duration *interpreter.Duration
}

func (w *waitBody) Enter(s *interpreter.Scope) interpreter.Next {
	d, err := w.duration.Eval(s, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Sleep(d.AddTo(s.Now()))
}

func (w *waitBody) Wake(s *interpreter.Scope) interpreter.Next { return interpreter.Done(s.Input()) }
