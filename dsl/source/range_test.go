package source_test

import (
	"testing"

	"github.com/swrun/swrun/dsl/source"
)

// TestRangeOfBrackets: the range of a list or an object in brackets ends at its own bracket, on the first line.
func TestRangeOfBrackets(t *testing.T) {
	for text, want := range map[string]string{
		"a: [1, 2] # one":                  "[1, 2]",
		"{ x: { a: [1, 2] }, b: 3 }":       "{ a: [1, 2] }",
		"a: [1, ['x]', \"y]\"], { b: c }]": "[1, ['x]', \"y]\"], { b: c }]",
		"a: [1, # ] a comment\n 2]":        "[1, # ] a comment",
		"{ a: [1, # ]\n 2 ], b: 3 }":       "[1, # ]",
		"a: { b: c#d }":                    "{ b: c#d }",
		"a: []":                            "[]",
		"{ a: { b: }, c: 1 }":              "{ b: }",
		"a: [x, ] # ]":                     "[x, ]",
	} {
		tree, problems := source.Read("range.yaml", []byte(text))
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		r := tree.RangeOf(tree.Root.Content[1])
		if got := string(tree.Text[r.Start.Offset:r.End.Offset]); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	tree, _ := source.Read("range.yaml", []byte("a: &x [1]\nb: [2, *x] # ]"))
	r := tree.RangeOf(tree.Root.Content[3])
	if got := string(tree.Text[r.Start.Offset:r.End.Offset]); got != "[2, *x]" {
		t.Errorf("an alias: got %q", got)
	}
}
