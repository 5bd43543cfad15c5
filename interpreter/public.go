package interpreter

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// This file finds what is public, even if a secret holds the same words: what the document itself says. Everybody who
// reads the document knows it, and catches compare it.

// PublicInErrors returns what reports whether a text of an error is what the document or this program says: a standard
// type or title, a text of an error that the document defines, or the place of a task.
func PublicInErrors(w *dsl.Workflow) func(text string) bool {
	texts, names := errorTexts(w), namesIn(w.Source.Data(""))
	return func(text string) bool { return texts[text] || isPlace(text, names) }
}

// errorTexts returns the texts of the errors that are standard or that w defines.
func errorTexts(w *dsl.Workflow) map[string]bool {
	texts := map[string]bool{errors.Limit: true}
	for _, s := range errors.Standards() {
		texts[errors.Base+s.Name], texts[errors.BaseOpenWorkflow+s.Name], texts[s.Title] = true, true, true
	}
	for _, d := range w.ErrorDefinitions() {
		texts[d.Type], texts[d.Title], texts[d.Detail], texts[d.Instance] = true, true, true, true
	}
	return texts
}

// isPlace reports whether text is a pointer into a document with such names.
func isPlace(text string, names map[string]bool) bool {
	if !strings.HasPrefix(text, "/") {
		return false
	}
	for _, token := range dsl.Pointer(text).Tokens() {
		if !names[token] && (len(token) > 3 || strings.Trim(token, "0123456789") != "") {
			return false
		}
	}
	return true
}

// namesIn returns the names of all members in data.
func namesIn(v any) map[string]bool {
	names := map[string]bool{}
	walkData(v, func(name string) { names[name] = true }, func(any) {})
	return names
}

// publicIn returns what reports whether a text stands as a whole in a task's definition.
func (m *machine) publicIn(n *node) func(text string) bool {
	var texts map[string]bool
	return func(text string) bool {
		if texts == nil { // mostly nothing is asked
			texts = map[string]bool{}
			add := func(text string) { texts[text] = true }
			walkData(m.p.Workflow.Source.Data(n.origin), add, func(leaf any) { add(fmt.Sprint(leaf)) })
		}
		return texts[text]
	}
}

func walkData(v any, name func(string), leaf func(any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			name(key)
			walkData(member, name, leaf)
		}
	case []any:
		for _, item := range v {
			walkData(item, name, leaf)
		}
	default:
		leaf(v)
	}
}
