package interpreter

import (
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Check applies all rules of dsl.Check, with the knowledge of package expr about expressions.
func Check(w *dsl.Workflow) dsl.Diagnostics { return dsl.Check(w, analyzer{}) }

// analyzer analyzes expressions for package dsl, which must not import package expr.
type analyzer struct{}

func (analyzer) Functions() []string { return expr.Functions() }

func (analyzer) Analyze(source string) (dsl.Facts, error) {
	facts, err := expr.Analyze(source)
	if err != nil {
		var syntax *expr.SyntaxError
		if errors.As(err, &syntax) {
			return dsl.Facts{}, &dsl.ExpressionError{Offset: syntax.Offset, Length: len(syntax.Token), Message: syntax.Msg}
		}
		return dsl.Facts{}, err
	}
	translated := dsl.Facts{Fields: facts.Fields, Impure: facts.Impure, Yields: facts.Yields, Assigns: facts.Assigns}
	for _, v := range facts.Variables {
		translated.Variables = append(translated.Variables, dsl.Name{Name: v.Name, Offset: v.Offset, Known: true, Path: v.Path})
	}
	for _, f := range facts.Functions {
		translated.Functions = append(translated.Functions, dsl.Name{
			Name: f.Name, Arity: f.Arity, Offset: f.Offset, Known: f.Known, Reason: reason(source, f),
		})
	}
	return translated, nil
}

// reason returns why a function that exists elsewhere cannot be called, or "" if there is no such function.
func reason(source string, f expr.Ref) string {
	var syntax *expr.SyntaxError
	if f.Known {
		return ""
	}
	_, err := expr.Compile(source)
	if !errors.As(err, &syntax) || syntax.Offset != f.Offset || !strings.Contains(syntax.Msg, "not available") {
		return ""
	}
	return syntax.Msg
}
