package interpreter

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Check applies all rules of dsl.Check, with what package expr knows of expressions.
func Check(w *dsl.Workflow) dsl.Diagnostics { return dsl.Check(w, analyzer{}) }

// analyzer tells package dsl about expressions, which it cannot import.
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
	translated := dsl.Facts{Fields: facts.Fields}
	for _, v := range facts.Variables {
		translated.Variables = append(translated.Variables, dsl.Name{Name: v.Name, Offset: v.Offset, Known: true, Path: v.Path})
	}
	for _, f := range facts.Functions {
		translated.Functions = append(translated.Functions, dsl.Name{Name: f.Name, Offset: f.Offset, Known: f.Known})
	}
	return translated, nil
}
