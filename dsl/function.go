package dsl

import (
	"strings"

	"github.com/swrun/swrun/dsl/source"
)

// ParseFunction reads a function from a text of its own, as in catalogs and at URIs: the definition of a task (DSL reference, "Custom Functions").
// Name is the name of the task. The pointers of everything in the text begin with at. The returned workflow represents the function's text: it
// defines nothing that the function could use.
func ParseFunction(file string, text []byte, name string, at Pointer) (*Workflow, Task, Diagnostics) {
	tree, problems := source.Read(file, text)
	p := newParser(&Source{Tree: tree, at: at})
	for _, problem := range problems {
		p.keep(Diagnostic{Code: problem.Code, Message: problem.Message, Range: problem.Range, Pointer: at, Related: problem.Related, Help: problem.Help})
	}
	w := &Workflow{Source: p.src}
	if tree.Root == nil {
		return w, nil, p.found
	}
	task := p.task(name, tree.Root, at)
	p.checkQuotes(tree.Root, at)
	if len(problems) == 0 {
		p.reportIdle()
	}
	p.found.Sort()
	return w, task, p.found
}

// tokens returns the tokens of a pointer, starting from the root of the text.
func (s *Source) tokens(p Pointer) []string {
	return Pointer(strings.TrimPrefix(string(p), string(s.at))).Tokens()
}

// remoteFunctions is the beginning of the pointers of everything in functions from elsewhere. No document has a member of that name.
const remoteFunctions = Pointer("/functions")

// RemoteFunction returns the pointer of the function at a URI.
func RemoteFunction(uri string) Pointer { return remoteFunctions.Key(uri) }

// RemoteFunction returns the function from elsewhere that contains p, and its URI; ok is false for places in the document.
func (p Pointer) RemoteFunction() (function Pointer, uri string, ok bool) {
	rest, ok := strings.CutPrefix(string(p), string(remoteFunctions)+"/")
	if !ok {
		return "", "", false
	}
	name, _, _ := strings.Cut(rest, "/")
	return remoteFunctions + Pointer("/"+name), unescaper.Replace(name), true
}
