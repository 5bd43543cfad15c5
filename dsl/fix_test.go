package dsl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
)

// TestFixesRepair applies the fix of every diagnostic of the bad documents, one at a time: the diagnostic must be gone, and the text must still be YAML.
func TestFixesRepair(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fixes := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, before := dsl.Parse(file, text)
		for _, d := range before {
			if len(d.Fix) == 0 {
				continue
			}
			fixes++
			fixed := applied(text, d.Fix)
			_, after := dsl.Parse(file, fixed)
			if slices.ContainsFunc(after, func(a dsl.Diagnostic) bool { return a.Code == "SW101" }) || holds(after, d) >= holds(before, d) {
				t.Errorf("the fix of %v does not repair:\n%s\n%v", d, fixed, after)
			}
		}
	}
	if fixes < 20 {
		t.Errorf("only %d fixes", fixes)
	}
}

func holds(ds dsl.Diagnostics, d dsl.Diagnostic) int {
	n := 0
	for _, other := range ds {
		if other.Code == d.Code && other.Message == d.Message {
			n++
		}
	}
	return n
}

// applied applies edits that do not overlap.
func applied(text []byte, edits []source.Edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b source.Edit) int { return b.Range.Start.Offset - a.Range.Start.Offset })
	for _, e := range edits {
		text = slices.Concat(text[:e.Range.Start.Offset], []byte(e.NewText), text[e.Range.End.Offset:])
	}
	return text
}

// TestFixesMakeValid repairs whole documents.
func TestFixesMakeValid(t *testing.T) {
	const head = "document: { dsl: 1.0.3, namespace: test, name: bad, version: 1.0.0 }\n"
	for _, c := range []struct{ name, text, want string }{
		{"tasks as an object", head + "do:\n  first:\n    set:\n      x: |\n        one\n        two\n  second:\n    wait: PT1S\n",
			head + "do:\n  - first:\n      set:\n        x: |\n          one\n          two\n  - second:\n      wait: PT1S\n"},
		{"tasks as an object, text over lines", head + "do:\n  first:\n    set: { x: 'one\n      two' }\n  second:\n    wait: PT1S\n",
			head + "do:\n  - first:\n      set: { x: 'one\n        two' }\n  - second:\n      wait: PT1S\n"},
		{"properties beside the name", head + "do:\n  - greet:\n    set:\n      x: 1\n    then: end\n",
			head + "do:\n  - greet:\n      set:\n        x: 1\n      then: end\n"},
		{"tasks in one list item", head + "do:\n  - a:\n      wait: PT1S\n    b:\n      wait: PT1S\n",
			head + "do:\n  - a:\n      wait: PT1S\n  - b:\n      wait: PT1S\n"},
		{"a timeout under document", "document:\n  dsl: 1.0.3\n  namespace: test\n  name: bad\n  version: 1.0.0\n  timeout:\n    after:\n      seconds: 2\ndo: [{ a: { wait: PT1S } }]",
			"document:\n  dsl: 1.0.3\n  namespace: test\n  name: bad\n  version: 1.0.0\ndo: [{ a: { wait: PT1S } }]\ntimeout:\n  after:\n    seconds: 2\n"},
		{"a timeout under document, followed by more", "document:\n  dsl: 1.0.3\n  timeout: { after: PT2S }\n  namespace: test\n  name: bad\n  version: 1.0.0\ndo: [{ a: { wait: PT1S } }]\n",
			"document:\n  dsl: 1.0.3\n  namespace: test\n  name: bad\n  version: 1.0.0\ndo: [{ a: { wait: PT1S } }]\ntimeout: { after: PT2S }\n"},
		{"a unit in the singular", head + "do:\n  - a: { wait: { second: 1 } }\n", head + "do:\n  - a: { wait: { seconds: 1 } }\n"},
		{"a version of two numbers", strings.Replace(head, "version: 1.0.0", "version: 1.0", 1) + "do: [{ a: { wait: PT1S } }]\n", strings.Replace(head, "version: 1.0.0", "version: '1.0.0'", 1) + "do: [{ a: { wait: PT1S } }]\n"},
		{"a schema without document", head + "input:\n  schema:\n    type: object\n    required: [a]\ndo: [{ a: { wait: PT1S } }]\n",
			head + "input:\n  schema:\n    document:\n      type: object\n      required: [a]\ndo: [{ a: { wait: PT1S } }]\n"},
		{"a schema without document in one line", head + "input: { schema: { type: object } }\ndo: [{ a: { wait: PT1S } }]\n",
			head + "input: { schema: { document: { type: object } } }\ndo: [{ a: { wait: PT1S } }]\n"},
		{"a timeout without after", head + "timeout:\n  minutes: 5 # five\n  # more\n  seconds: 3\ndo: [{ a: { wait: PT1S } }]\n",
			head + "timeout:\n  after:\n    minutes: 5 # five\n    # more\n    seconds: 3\ndo: [{ a: { wait: PT1S } }]\n"},
		{"a timeout without after in JSON", `{"timeout": {"seconds": 5}, "document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}]}`,
			`{"timeout": { "after": {"seconds": 5} }, "document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}]}`},
		{"the end of older versions", head + "do:\n  - a:\n      set: { x: 1 }\n      end: true\n", head + "do:\n  - a:\n      set: { x: 1 }\n      then: end\n"},
		{"a number for a text", strings.Replace(head, "}", ", title: 5 }", 1) + "do: [{ a: { wait: PT1S } }]\n", strings.Replace(head, "}", ", title: '5' }", 1) + "do: [{ a: { wait: PT1S } }]\n"},
		{"a misspelt key of JSON", `{"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}], "evaluat": {"mode": "loose"}}`,
			`{"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}], "evaluate": {"mode": "loose"}}`},
		{"a misspelt word of JSON", `{"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}], "evaluate": {"mode": "lose"}}`,
			`{"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}], "evaluate": {"mode": "loose"}}`},
		{"a number for a version in JSON", `{"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": 1.0}, "do": [{"a": {"wait": "PT1S"}}]}`,
			`{"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1S"}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, found := dsl.Parse("bad.yaml", []byte(c.text))
			if len(found) != 1 {
				t.Fatalf("want one diagnostic, got %v", found)
			}
			got := string(applied([]byte(c.text), found[0].Fix))
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if _, after := dsl.Parse("fixed.yaml", []byte(got)); len(after) > 0 {
				t.Error(after)
			}
		})
	}
}

// TestNoFixGuesses: a correction that is only likely is a question, and not a fix that `lint --fix` applies for the author.
func TestNoFixGuesses(t *testing.T) {
	const head = "document: { dsl: 1.0.3, namespace: test, name: bad, version: 1.0.0 }\n"
	for _, c := range []struct{ name, text string }{
		{"the nearest of several tasks", head + "do:\n  - a: { set: { x: 1 }, then: c }\n  - b: { set: { x: 1 } }\n  - cc: { set: { x: 1 } }\n"},
		{"a task with another number", head + "do:\n  - step1: { set: { x: 1 } }\n  - pay: { set: { x: 1 }, then: step2 }\n"},
		{"a key that begins like another", head + "outputSchemas: {}\ndo: [{ a: { wait: PT1S } }]\n"},
		{"a version that would be refused too", "document: { dsl: 0.8, namespace: test, name: bad, version: 1.0.0 }\ndo: [{ a: { wait: PT1S } }]\n"},
		{"a case without its name", head + "do:\n  - s:\n      switch:\n        - when: .a == \"x\"\n          then: end\n"},
		{"a number without its unit", head + "timeout: 30\ndo: [{ a: { wait: PT1S } }]\n"},
		{"a key whose value has another shape", head + "do:\n  - a: { sleep: { for: 5 } }\n"},
		{"text that looks like an expression", head + "do:\n  - a: { set: { x: .a.b } }\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, found := dsl.Parse("bad.yaml", []byte(c.text))
			found = append(found, dsl.Check(w, noAnalyzer{})...)
			if len(found) == 0 {
				t.Error("nothing was found")
			}
			for _, d := range found {
				if slices.ContainsFunc(d.Fix, func(e source.Edit) bool { return e.Safe }) {
					t.Errorf("%v: %+v", d, d.Fix)
				}
			}
		})
	}
}

// noAnalyzer takes every text for an expression.
type noAnalyzer struct{}

func (noAnalyzer) Analyze(string) (dsl.Facts, error) { return dsl.Facts{}, nil }
func (noAnalyzer) Functions() []string               { return nil }

// TestNullIsNotMadeText: null is absence, so that no edit puts it in quotes.
func TestNullIsNotMadeText(t *testing.T) {
	text, err := os.ReadFile("testdata/null.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, found := dsl.Parse("null.yaml", text)
	for _, d := range found {
		for _, e := range d.Fix {
			if strings.Contains(e.NewText, "null") || strings.Contains(e.NewText, "~") {
				t.Errorf("%v is repaired by %q", d, e.NewText)
			}
		}
	}
}
