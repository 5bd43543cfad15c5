package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// Reference names a workflow.
type Reference struct {
	Namespace, Name, Version string
}

// String returns namespace/name:version.
func (r Reference) String() string { return r.Namespace + "/" + r.Name + ":" + r.Version }

// ParseReference reads namespace/name or namespace/name:version; without a version it is latest.
func ParseReference(s string) (Reference, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return Reference{}, fmt.Errorf("%q does not name a workflow: it has a space or a control character", shorten.To(s, maxName))
	}
	name, version, ok := strings.Cut(s, ":")
	if !ok {
		version = Latest
	}
	namespace, name, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || name == "" || version == "" {
		return Reference{}, fmt.Errorf("%q does not name a workflow: it must be namespace/name or namespace/name:version", shorten.To(s, maxName))
	}
	return Reference{namespace, name, version}, nil
}

// maxName is the maximum number of bytes of a name in an error.
const maxName = 200

// Latest is the version that stands for the highest one.
const Latest = dsl.Latest

// IsVersion reports whether text can be the version of a workflow.
func IsVersion(text string) bool { return dsl.IsVersion(text) }

// MarshalText returns the output of String.
func (r Reference) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (r *Reference) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReference(string(text))
	return err
}

// Child is a workflow that a task runs or continues as, and the first such task.
type Child struct {
	Reference
	// Task is in the document. It runs the workflow, or it calls a function from elsewhere, a task of which does.
	Task dsl.Pointer
	// Function is the URI of the function with the task; empty if the task is in the document.
	Function string
}

// Children returns the distinct workflows that the tasks of w run or continue as. Workflows of functions from elsewhere are omitted.
func Children(w *dsl.Workflow) (all []Child) {
	dsl.Walk(w, func(t dsl.Task) bool {
		for _, r := range childrenOfTask(w, t) {
			all = withChild(all, Child{Reference: r, Task: t.Base().Pointer})
		}
		return true
	})
	return all
}

// AllChildren is Children for a compiled workflow, including functions from elsewhere.
func AllChildren(p *interpreter.Program) []Child {
	return withRuns(Children(p.Workflow), p.Runs())
}

// ChildrenOfFunction returns the workflows that a function of a catalog runs, each once. A task of it that continues as another version of the workflow which calls
// the function names none.
func ChildrenOfFunction(runs []interpreter.WorkflowRun) []Child {
	return withRuns(nil, slices.DeleteFunc(runs, func(r interpreter.WorkflowRun) bool { return r.Name == "" }))
}

func withRuns(all []Child, runs []interpreter.WorkflowRun) []Child {
	for _, r := range runs {
		all = withChild(all, Child{Reference{r.Namespace, r.Name, r.Version}, r.Task, r.Function})
	}
	return all
}

// withChild adds a child that is not there yet.
func withChild(all []Child, c Child) []Child {
	if slices.ContainsFunc(all, func(known Child) bool { return known.Reference == c.Reference }) {
		return all
	}
	return append(all, c)
}

func childrenOfTask(w *dsl.Workflow, t dsl.Task) (all []Reference) {
	if r, ok := t.(*dsl.RunWorkflow); ok {
		all = append(all, Reference{Namespace: r.Namespace, Name: r.Workflow, Version: r.Version})
	}
	if version := t.Traits().NextVersion; version != "" {
		all = append(all, Reference{Namespace: w.Document.Namespace, Name: w.Document.Name, Version: version})
	}
	return all
}

// Title returns the reference in the text of a document, even if the document has other errors; ok is false if it is not a workflow
// document.
func Title(text []byte) (title Reference, ok bool) {
	w, _ := dsl.Parse("", text)
	document, _ := w.Source.Data("/document").(map[string]any)
	member := func(name string) string {
		text, _ := document[name].(string)
		return text
	}
	return Reference{Namespace: member("namespace"), Name: member("name"), Version: member("version")}, document["dsl"] != nil
}
