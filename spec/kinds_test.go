package spec_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/spec"
)

// TestEachKindHasItsPage: there is a page for each kind of task, and no other page.
func TestEachKindHasItsPage(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, kind := range dsl.Kinds() {
		want = append(want, string(kind)+".md")
	}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("-kinds +pages\n%s", diff)
	}
}

// TestEditorSuggestsTheStandardErrors: an editor offers the types of errors that a workflow can catch.
func TestEditorSuggestsTheStandardErrors(t *testing.T) {
	for _, s := range errors.Standards() {
		if uri := errors.Base + s.Name; !strings.Contains(string(spec.EditorSchema()), uri) {
			t.Errorf("the editor's schema does not suggest %s", uri)
		}
	}
}

// TestVersionsAreTakenWithoutAWarning: a document of a released version has no diagnostics, and a document of the next version has.
func TestVersionsAreTakenWithoutAWarning(t *testing.T) {
	parse := func(version string) dsl.Diagnostics {
		_, found := dsl.Parse("version.yaml", fmt.Appendf(nil, "document: {dsl: %s, namespace: a, name: a, version: 0.1.0}\ndo: [{a: {wait: PT1S}}]", version))
		return found
	}
	for _, version := range []string{"1.0.0", "1.0.1", "1.0.2", "1.0.3"} {
		if found := parse(version); len(found) > 0 {
			t.Errorf("%s: %v", version, found)
		}
	}
	if len(parse("1.99.0")) == 0 {
		t.Error("a version of the future is taken without a warning")
	}
}
