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

// diffJSON says in which lines two values differ when they are written as JSON. Lines are compared, since comparing the
// values themselves takes twice the time with each array that lies within another.
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
