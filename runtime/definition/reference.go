package definition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/shorten"
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

// maxName is how many bytes of a name stand in an error.
const maxName = 200

// Latest is the version that stands for the highest one.
const Latest = dsl.Latest

// MarshalText writes what String returns.
func (r Reference) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Reference) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReference(string(text))
	return err
}

// Children returns the workflows that the tasks of w run or continue as, each once.
func Children(w *dsl.Workflow) []Reference {
	found := map[Reference]bool{}
	dsl.Walk(w, func(t dsl.Task) bool {
		for _, r := range ChildrenOfTask(w, t) {
			found[r] = true
		}
		return true
	})
	return slices.SortedFunc(maps.Keys(found), func(a, b Reference) int { return cmp.Compare(a.String(), b.String()) })
}

// ChildrenOfTask returns the workflows that a task of w runs or continues as.
func ChildrenOfTask(w *dsl.Workflow, t dsl.Task) (all []Reference) {
	if r, ok := t.(*dsl.RunWorkflow); ok {
		all = append(all, Reference{Namespace: r.Namespace, Name: r.Workflow, Version: r.Version})
	}
	if version := t.Traits().NextVersion; version != "" {
		all = append(all, Reference{Namespace: w.Document.Namespace, Name: w.Document.Name, Version: version})
	}
	return all
}

// Title returns what the document in a text calls itself, whatever else is wrong with it; ok is false if it is not a workflow document.
func Title(text []byte) (title Reference, ok bool) {
	w, _ := dsl.Parse("", text)
	document, _ := w.Source.Data("/document").(map[string]any)
	member := func(name string) string {
		text, _ := document[name].(string)
		return text
	}
	return Reference{Namespace: member("namespace"), Name: member("name"), Version: member("version")}, document["dsl"] != nil
}
