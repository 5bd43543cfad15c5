package dsl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestRules: every rule is listed once, in order, with a title of one line and an explanation.
func TestRules(t *testing.T) {
	last := ""
	for _, r := range dsl.Rules() {
		if r.Code <= last {
			t.Errorf("%s stands after %s", r.Code, last)
		}
		last = r.Code
		if r.Title == "" || strings.Contains(r.Title, "\n") || len(r.Explanation) < 60 {
			t.Errorf("%s tells too little: %q, %q", r.Code, r.Title, r.Explanation)
		}
	}
}

// TestEveryFormRuleIsTested: each rule of the document's form has a bad document in testdata or in the code of the tests.
func TestEveryFormRuleIsTested(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range append(files, "attack_test.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	rules := slices.DeleteFunc(dsl.Rules(), func(r dsl.Rule) bool { return !strings.HasPrefix(r.Code, "SW1") })
	if len(rules) < 20 {
		t.Fatalf("only %d rules of form", len(rules))
	}
	for _, r := range rules {
		if !strings.Contains(all.String(), r.Code) {
			t.Errorf("no bad document for %s", r.Code)
		}
		if !strings.Contains(r.Explanation, "good: ") && !strings.Contains(r.Explanation, "new: ") {
			t.Errorf("%s has no good example", r.Code)
		}
	}
}
