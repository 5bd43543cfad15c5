package dsl

import (
	"slices"

	"github.com/swrun/swrun/internal/delimited"
)

// expressionText is a text of the document that is an expression, or may be meant as one.
type expressionText struct {
	at        Pointer
	text      string
	property  property
	always    bool     // it is an expression with or without ${ }
	variables []string // besides the built-in variables
	task      Task     // of the property; nil for a property of the document
}

// isExpression reports whether the text is evaluated.
func (e expressionText) isExpression() bool { return e.always || delimited.Is(e.text) }

// expressionTexts returns all texts of a document that may be expressions, in no particular order. A definition under use runs
// wherever it is named, so it may use every variable that is bound anywhere.
func expressionTexts(doc *Workflow) (all []expressionText) {
	w := &walker{}
	w.onValue = func(p property, v Value) {
		e := expressionText{v.Pointer, "", p, false, w.variables, w.task}
		if text, ok := v.Data.(string); ok && v.Form == FormTransform {
			e.text, e.always = text, true
			all = append(all, e)
			return
		}
		all = e.inside(v.Data, all)
	}
	w.workflow(doc, boundAnywhere(doc))
	return all
}

// inside appends each text inside data, which is at e.
func (e expressionText) inside(data any, all []expressionText) []expressionText {
	at := e.at
	switch data := data.(type) {
	case string:
		e.text = data
		return append(all, e)
	case map[string]any:
		for _, name := range sortedKeys(data) {
			e.at = at.Key(name)
			all = e.inside(data[name], all)
		}
	case []any:
		for i, item := range data {
			e.at = at.Index(i)
			all = e.inside(item, all)
		}
	}
	return all
}

// boundAnywhere returns the variables that loops, catches and iterators of the document bind.
func boundAnywhere(doc *Workflow) (all []string) {
	w := &walker{onBound: func(variables []string) { all = append(all, variables...) }}
	w.workflow(doc, nil)
	slices.Sort(all)
	return slices.Compact(all)
}
