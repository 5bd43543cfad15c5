package jsonvalue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// TestMap: every scalar is replaced, and the value itself stays unchanged.
func TestMap(t *testing.T) {
	name := func(v any) any {
		if v == nil {
			return "nothing"
		}
		return v
	}
	for _, c := range []struct{ v, want any }{
		{nil, "nothing"},
		{1, 1},
		{[]any{}, []any{}},
		{map[string]any{}, map[string]any{}},
		{map[string]any{"a": []any{nil, map[string]any{"b": nil}}, "c": true}, map[string]any{"a": []any{"nothing", map[string]any{"b": "nothing"}}, "c": true}},
	} {
		before := jsonvalue.Map(c.v, func(leaf any) any { return leaf })
		if diff := cmp.Diff(c.want, jsonvalue.Map(c.v, name)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.v, diff)
		}
		if diff := cmp.Diff(before, c.v); diff != "" {
			t.Errorf("the value was written to:\n%s", diff)
		}
	}
}
