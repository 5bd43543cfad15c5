package spec_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/spec"
)

// TestStemsAreTheKindsOfTheParser: the stems are the parser's kinds, and each has its page.
func TestStemsAreTheKindsOfTheParser(t *testing.T) {
	var kinds []string
	for _, kind := range dsl.Kinds() {
		kinds = append(kinds, string(kind))
	}
	if diff := cmp.Diff(kinds, spec.Stems()); diff != "" {
		t.Errorf("-parser +stems\n%s", diff)
	}
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range pages {
		pages[i] = strings.TrimSuffix(page, ".md")
	}
	if diff := cmp.Diff(pages, spec.Stems()); diff != "" {
		t.Errorf("-pages +stems\n%s", diff)
	}
}

// TestErrorNamesAreTheStandardErrors: the names are those of package errors, and the editor suggests them.
func TestErrorNamesAreTheStandardErrors(t *testing.T) {
	var names []string
	for _, s := range errors.Standards() {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff(names, spec.ErrorNames()); diff != "" {
		t.Errorf("-errors +names\n%s", diff)
	}
	for _, name := range spec.ErrorNames() {
		if uri := errors.Base + name; !strings.Contains(string(spec.EditorSchema()), uri) {
			t.Errorf("the editor's schema does not suggest %s", uri)
		}
	}
}

// TestVersionsAreTakenWithoutAWarning: a document of a released version has no diagnostics, and the next one has.
func TestVersionsAreTakenWithoutAWarning(t *testing.T) {
	parse := func(version string) dsl.Diagnostics {
		_, found := dsl.Parse("version.yaml", fmt.Appendf(nil, "document: {dsl: %s, namespace: a, name: a, version: 0.1.0}\ndo: []", version))
		return found
	}
	for _, version := range spec.Versions() {
		if found := parse(version); len(found) > 0 {
			t.Errorf("%s: %v", version, found)
		}
	}
	if len(parse("1.99.0")) == 0 {
		t.Error("a version of the future is taken without a warning")
	}
}

// TestKeywordsAreThoseOfTheSchema: the schema's kinds of tasks have the keywords' properties, and no others.
func TestKeywordsAreThoseOfTheSchema(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			OneOf []struct {
				Ref string `json:"$ref"`
			}
			Properties map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, kind := range schema.Defs["task"].OneOf {
		keys := slices.Sorted(maps.Keys(schema.Defs[strings.TrimPrefix(kind.Ref, "#/$defs/")].Properties))
		got[strings.Join(keys, " ")] = true
	}
	for _, k := range spec.Keywords() {
		keys := slices.Sorted(slices.Values(slices.Concat([]string{k.Name}, k.With, spec.TaskKeys())))
		want[strings.Join(keys, " ")] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-keywords +schema\n%s", diff)
	}
}
