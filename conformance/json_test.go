package conformance

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// diffJSON returns the lines in which two values differ when they are written as JSON. It compares lines, since a comparison of the values themselves
// takes twice the time with each array inside another.
func diffJSON(t *testing.T, want, got any) string {
	t.Helper()
	return cmp.Diff(indented(t, want), indented(t, got))
}

func indented(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
