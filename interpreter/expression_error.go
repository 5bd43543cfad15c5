package interpreter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// This file says which expression an error comes from: as it is written, where it stands, and what it was given. The
// error's detail stays as it is, since catches compare it; what is known beside it is one further member.

const (
	maxExpressionText  = 500 // bytes of an expression
	maxInputPreview    = 200 // bytes of what it was given
	maxVariablePreview = 80  // bytes of the value of a variable
	maxPreviewItems    = 10  // items and members of data, at each of maxPreviewDepth levels
	maxPreviewDepth    = 4
	maxPreviewLeaf     = 10_000 // bytes of a text: longer ones are told by their size
)

// evalError returns the workflow error of an evaluation that failed, with its expression.
func (s *Scope) evalError(err error) *errors.Error {
	var failure *expr.EvalError
	if !errors.As(err, &failure) {
		return asWorkflowError(err)
	}
	var condition *expr.ConditionError
	if errors.As(err, &condition) {
		what := "a condition"
		if at, known := s.m.p.places[failure.Code]; known {
			what = "`" + property(at) + "`"
		}
		yielded := s.m.preview(condition.Yielded, maxVariablePreview)
		return s.withCode(errors.Expressionf("%s must be true or false, it gave %s", what, yielded), failure.Code, failure.Input)
	}
	return s.withCode(asWorkflowError(err), failure.Code, failure.Input)
}

// asWorkflowError returns the workflow error in err; an expression yields no other.
func asWorkflowError(err error) *errors.Error {
	if e := errors.AsError(err); e != nil {
		return e
	}
	return errors.Expressionf("%s", err)
}

// WithExpression returns the error about a value that t has yielded for the task's input, and that cannot be used. It tells the
// expression that has made the value which keys and positions lead to.
func (s *Scope) WithExpression(err *errors.Error, t *expr.Template, path ...any) *errors.Error {
	return s.withCode(err, t.CodeAt(path...), s.Input())
}

// withCode adds to an error the expression that it comes from, if one does.
func (s *Scope) withCode(err *errors.Error, c *expr.Code, input any) *errors.Error {
	if c == nil {
		return err
	}
	cited := errors.ExpressionContext{Input: s.m.preview(input, maxInputPreview), Variables: s.variablePreviews(c)}
	text := c.Text()
	if at, known := s.m.p.places[c]; known {
		source := s.m.p.Workflow.Source
		if written, ok := source.Data(at).(string); ok { // without the ${ } that compiling may add
			text = written
		}
		blank := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		start := source.Within(at, blank, blank).Start
		cited.Pointer, cited.Source = at.Instance(), fmt.Sprintf("%s:%d:%d", source.File, start.Line, start.Column)
	}
	cited.Text = excerpt(strings.TrimSpace(s.m.s.redact.Text(text)), maxExpressionText)
	return err.WithExpression(cited)
}

// variablePreviews are the values that an expression got by name. Those that may be credentials, and those that only
// describe the run, are left out.
func (s *Scope) variablePreviews(c *expr.Code) map[string]any {
	shown := map[string]any{}
	for _, name := range c.Variables() {
		switch name {
		case "secrets", "secret", "authorization", "workflow", "task", "runtime":
			continue
		}
		if len(shown) == maxPreviewItems {
			break
		}
		shown[name] = s.m.preview(s.Variable(name), maxVariablePreview)
	}
	return shown
}

// notePlaces notes where the expressions of a template stand.
func (c *compiler) notePlaces(at dsl.Pointer, t *expr.Template) {
	t.VisitExpressions(func(path []any, code *expr.Code) { c.program.places[code] = pointerTo(at, path) })
}

// pointerTo returns the pointer of what keys and positions lead to.
func pointerTo(at dsl.Pointer, path []any) dsl.Pointer {
	for _, key := range path {
		switch key := key.(type) {
		case string:
			at = at.Key(key)
		case int:
			at = at.Index(key)
		}
	}
	return at
}

// preview is data as JSON, cut. Secrets are hidden before anything is cut off in the middle: what is left out before that
// are whole items and whole texts.
func (m *machine) preview(v any, most int) string {
	text, err := expr.Encode(m.s.redact.Value(pruned(v, maxPreviewDepth)))
	if err != nil {
		return "a value that is not JSON"
	}
	return excerpt(string(text), most)
}

// pruned returns data without most of its items, so that showing it takes no longer for large data.
func pruned(v any, depth int) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxPreviewLeaf {
			return fmt.Sprintf("(a text of %d bytes)", len(v))
		}
	case json.Number:
		if len(v) > maxInputPreview {
			return fmt.Sprintf("(a number of %d letters)", len(v))
		}
	case []any:
		if depth == 0 && len(v) > 0 {
			return fmt.Sprintf("(a list of length %d)", len(v))
		}
		few := make([]any, 0, maxPreviewItems+1)
		for _, item := range v[:min(len(v), maxPreviewItems)] {
			few = append(few, pruned(item, depth-1))
		}
		if more := len(v) - maxPreviewItems; more > 0 {
			few = append(few, fmt.Sprintf("(%d more)", more))
		}
		return few
	case map[string]any:
		if depth == 0 && len(v) > 0 {
			return fmt.Sprintf("(an object of size %d)", len(v))
		}
		few := make(map[string]any, maxPreviewItems)
		for _, name := range firstNames(v, maxPreviewItems) {
			few[name] = pruned(v[name], depth-1)
		}
		if more := len(v) - len(few); more > 0 {
			few["…"] = fmt.Sprintf("(%d more)", more)
		}
		return few
	}
	return v
}

// firstNames returns the first names of an object in their order.
func firstNames(v map[string]any, most int) []string {
	first := make([]string, 0, most+1)
	for name := range v {
		i, _ := slices.BinarySearch(first, name)
		if i == most || len(name) > maxPreviewLeaf {
			continue
		}
		if first = slices.Insert(first, i, name); len(first) > most {
			first = first[:most]
		}
	}
	return first
}

// excerpt is the beginning of a text.
func excerpt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
