package dsl_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestOneSlipIsOneDiagnostic misspells every key of the document that uses every property, one at a time and in three ways: there is at most one
// diagnostic. Zero is right for keys that are names or data.
func TestOneSlipIsOneDiagnostic(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := dsl.Parse("everything.yaml", text)
	reported := 0
	for n, at := range keysOf(w.Source.Data(""), "") {
		if n%everyNth != 0 {
			continue
		}
		r := w.Source.Key(at)
		key := string(text[r.Start.Offset:r.End.Offset])
		for _, slip := range []string{key[:len(key)-1], key + "x", key[:len(key)/2] + "q" + key[len(key)/2:]} {
			if slip == "" || key+slip == "forkfor" || key+slip == "ono" { // `for` is another keyword; `o` is too short to guess
				continue
			}
			_, found := dsl.Parse("slip.yaml", slices.Concat(text[:r.Start.Offset], []byte(slip), text[r.End.Offset:]))
			if len(found) > 1 {
				t.Errorf("%s becomes %s: %v", at, slip, fmt.Sprint([]dsl.Diagnostic(found)))
			}
			reported += min(len(found), 1)
		}
	}
	if reported < 1000/everyNth {
		t.Errorf("only %d slips were reported", reported)
	}
}

// keysOf returns the pointers of all members of v.
func keysOf(v any, at dsl.Pointer) []dsl.Pointer {
	var all []dsl.Pointer
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, at.Key(key)), keysOf(v[key], at.Key(key))...)
		}
	case []any:
		for i, item := range v {
			all = append(all, keysOf(item, at.Index(i))...)
		}
	}
	return all
}
