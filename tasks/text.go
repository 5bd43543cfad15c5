package tasks

import (
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// evalText evaluates a template for the task's input. what names the property, which must be text that is not empty.
func evalText(s *interpreter.Scope, t *expr.Template, what string) (string, *errors.Error) {
	v, err := s.Eval(t, s.Input())
	if err != nil {
		return "", err
	}
	text, err := asText(v, what)
	if err != nil {
		return "", s.WithExpression(err, t)
	}
	return text, nil
}

// asText returns the result of an expression for a property that must be text, and must not be empty (semantics 1.3a).
func asText(v any, what string) (string, *errors.Error) {
	text, ok := v.(string)
	switch {
	case !ok:
		return "", errors.Expressionf("%s must be text, got %s", what, kindOf(v))
	case strings.TrimSpace(text) == "":
		return "", errors.Expressionf("%s must not be empty", what)
	}
	return text, nil
}
