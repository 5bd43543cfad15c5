package interpreter

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// This file decides which texts are public even if a secret contains the same words: the texts of the document itself. Every reader of the document
// knows them, and catches compare them.

// PublicInErrors returns a function that reports whether a text of an error is public: a standard type or title, a text of an
// error that the document defines, or the pointer of a task.
func PublicInErrors(w *dsl.Workflow) func(text string) bool {
	texts, names := errorTexts(w), namesIn(w.Source.Data(""))
	return func(text string) bool { return texts[text] || isPointer(text, names) }
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

// isPointer reports whether text is a pointer into a document whose members have these names.
func isPointer(text string, names map[string]bool) bool {
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

// publicIn returns a function that reports whether a text is a whole value, or a name, in a task's definition.
func (m *machine) publicIn(n *node) func(text string) bool {
	var texts map[string]bool
	return func(text string) bool {
		if texts == nil { // made when it is first needed, which is rare
			texts = map[string]bool{}
			add := func(text string) { texts[text] = true }
			walkData(m.p.Source(n.origin).Data(n.origin), add, func(leaf any) { add(fmt.Sprint(leaf)) })
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
