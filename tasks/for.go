package tasks

import (
	"fmt"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

func forEach() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindFor, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		task := t.(*dsl.ForTask)
		return &forBody{
			each: task.Each, at: task.At,
			in:    b.Value(task.In),
			while: b.Condition(task.While),
			list:  b.List("do", task.Do),
		}
	}}
}

// forBody runs its list once per item. The first pass gets the task's input, and every other pass the output of the previous pass (semantics 5.1).
type forBody struct {
	each, at string
	in       *expr.Template
	while    *expr.Code
	list     *interpreter.List
}

// forProgress is written once, before the first pass. The list that runs contains the number of the pass.
type forProgress struct {
	Items []interpreter.Value `json:"items"`
}

func (f *forBody) Enter(s *interpreter.Scope) interpreter.Next {
	collection, err := s.Eval(f.in, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	items, ok := collection.([]any)
	if !ok {
		return interpreter.Fail(s.WithExpression(errors.Expressionf("for.in must yield an array, got %s", kindOf(collection)), f.in))
	}
	if err := s.Limits().Check(limits.Items, len(items)); err != nil {
		return interpreter.Fail(err)
	}
	progress := interpreter.Progress[forProgress](s)
	progress.Items = make([]interpreter.Value, len(items))
	for i, item := range items {
		progress.Items[i] = interpreter.Value{V: item}
	}
	s.Changed()
	return f.pass(s, 0, s.Input())
}

// pass starts the i-th pass with the data of the previous pass, or ends the loop.
func (f *forBody) pass(s *interpreter.Scope, i int, data any) interpreter.Next {
	items := interpreter.Progress[forProgress](s).Items
	if i == len(items) {
		return interpreter.Done(data)
	}
	vars := interpreter.Vars{f.each: items[i].V, f.at: i}
	goOn, err := s.EvalConditionWith(f.while, data, vars)
	if err != nil {
		return interpreter.Fail(err)
	}
	if !goOn {
		return interpreter.Done(data)
	}
	return interpreter.Run(f.list, data, interpreter.Repetition{Iteration: i + 1}, vars)
}

// MovesFrom implements interpreter.Mover: the pass in progress has its variables.
func (f *forBody) MovesFrom(_ *interpreter.Scope, old interpreter.Body) string {
	if was := old.(*forBody); f.each != was.each || f.at != was.at {
		return fmt.Sprintf("the variables of its loop are $%s and $%s instead of $%s and $%s", f.each, f.at, was.each, was.at)
	}
	return ""
}

func (f *forBody) ChildDone(s *interpreter.Scope, c interpreter.Child) interpreter.Next {
	i := c.Repetition.Iteration
	next := f.pass(s, i, c.Output)
	if next.Ends() { // the last pass's variables stay visible to output.as and export.as (semantics 5.6)
		s.BindAfter(f.each, interpreter.Progress[forProgress](s).Items[i-1].V)
		s.BindAfter(f.at, i-1)
	}
	return next
}

func (f *forBody) ChildFailed(_ *interpreter.Scope, err *errors.Error) interpreter.Next {
	return interpreter.Fail(err)
}

// kindOf names the JSON type of v for messages.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
