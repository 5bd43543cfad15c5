package interpreter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
)

// This file adds to an error the expression that caused it: its text, its place and its input. They are one further member of the error. The detail
// stays unchanged, because catches compare it.

const (
	maxExpressionText  = 500 // bytes of an expression
	maxInputPreview    = 200 // bytes of its input
	maxVariablePreview = 80  // bytes of the value of a variable
	maxPreviewItems    = 10  // items and members of data, at each of maxPreviewDepth levels
	maxPreviewDepth    = 4
	maxPreviewLeaf     = 10_000 // bytes of a text; of longer texts only the size is shown
)

// evalError returns the workflow error for err, with the expression whose evaluation failed.
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

// asWorkflowError returns the workflow error that err wraps; any other error becomes an expression error.
func asWorkflowError(err error) *errors.Error {
	if e := errors.AsError(err); e != nil {
		return e
	}
	return errors.Expressionf("%s", err)
}

// WithExpression returns err with the expression that made the value at path, a list of keys (string) and positions (int). err is about a value that
// t yielded for the task's input.
func (s *Scope) WithExpression(err *errors.Error, t *expr.Template, path ...any) *errors.Error {
	return s.withCode(err, t.CodeAt(path...), s.Input())
}

// withCode returns err with the expression that caused it and the expression's input; err itself if c is nil.
func (s *Scope) withCode(err *errors.Error, c *expr.Code, input any) *errors.Error {
	if c == nil {
		return err
	}
	cited := errors.ExpressionContext{Input: s.m.preview(input, maxInputPreview), Variables: s.variablePreviews(c)}
	text := c.Text()
	if at, known := s.m.p.places[c]; known {
		source := s.m.p.Source(at)
		if written, ok := source.Data(at).(string); ok { // without the ${ } that compiling may add
			text = written
		}
		blank := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		start := source.Within(at, blank, blank).Start
		cited.Pointer, cited.Source = at.Instance(), fmt.Sprintf("%s:%d:%d", source.File, start.Line, start.Column)
	}
	cited.Text = shorten.To(strings.TrimSpace(s.m.s.redact.Text(text)), maxExpressionText)
	return err.WithExpression(cited)
}

// variablePreviews returns previews of the variables that c uses, by name. It omits variables that may contain credentials, and variables that only
// describe the run.
func (s *Scope) variablePreviews(c *expr.Code) map[string]any {
	previews := map[string]any{}
	for _, name := range c.Variables() {
		switch name {
		case "secrets", "secret", "authorization", "workflow", "task", "runtime":
			continue
		}
		if len(previews) == maxPreviewItems {
			break
		}
		previews[name] = s.m.preview(s.Variable(name), maxVariablePreview)
	}
	return previews
}

// notePlaces records the places of the expressions of a template in the document.
func (c *compiler) notePlaces(at dsl.Pointer, t *expr.Template) {
	t.VisitExpressions(func(path []any, code *expr.Code) { c.program.places[code] = pointerTo(at, path) })
}

// pointerTo returns at, extended by the keys and positions in path.
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

// preview returns the first bytes of v as JSON. Secrets are hidden before the text is cut. Before that, only whole items and whole texts are left
// out, so that no part of a secret remains.
func (m *machine) preview(v any, most int) string {
	text, err := expr.Encode(m.s.redact.Value(pruned(v, maxPreviewDepth)))
	if err != nil {
		return "a value that is not JSON"
	}
	return shorten.To(string(text), most)
}

// pruned returns data with only a few of its items and members, so that a preview of large data costs no more than a preview of small data.
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

// firstNames returns the first names of an object in alphabetical order.
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
