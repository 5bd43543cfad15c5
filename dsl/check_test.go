package dsl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

const checked = "document: { dsl: 1.0.3, namespace: demo, name: rule, version: 0.1.0 }\n"

// TestCascadingDiagnosticsAreDropped: consequences of an error of form are left out; other mistakes are reported in the same pass.
func TestCascadingDiagnosticsAreDropped(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // of Check
	}{
		{"a misspelt timeout leaves a catch without one", `do:
  - a:
      try: [{ b: { wait: PT9S, timeot: { after: PT5S } } }]
      catch: { errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/timeout' } }, then: continue }
`, nil},
		{"a misspelt errors leaves a catch of everything", `do:
  - a: { try: [{ b: { wait: PT1S } }], catch: { error: {} } }
`, nil},
		{"a misspelt section leaves names undefined", `use: { timeuts: { short: { after: PT1S } } }
do:
  - a: { wait: PT9S, timeout: short }
`, nil},
		{"a misspelt timeout of the workflow leaves calls unbounded", `timeot: { after: PT1S }
do:
  - a: { call: http, with: { method: get, endpoint: 'https://example.com' } }
`, nil},
		{"a misspelt name under use is one mistake", `use: { timeouts: { short: { after: PT1S } } }
do:
  - a: { wait: PT0.5S, timeout: shrt }
`, []string{"SW203"}},
		{"a timeout under document leaves calls unbounded", `do:
  - a: { call: http, with: { method: get, endpoint: 'https://example.com' } }
document: { dsl: 1.0.3, namespace: demo, name: rule, version: 0.1.0, timeout: { after: PT1S } }
`, nil},
		{"a name that is none hides nothing", `document: { dsl: 1.0.3, namespace: demo, name: not a name, version: 0.1.0 }
do:
  - a: { wait: PT0.5S, timeout: short }
`, []string{"SW203"}},
		{"what is wrong with another task is reported", `do:
  - a: { wait: { second: 1 } }
  - b: { set: { a: '${ .a + }' }, then: nowhere }
`, []string{"SW501", "SW201"}},
		{"undefined names are reported beside a misspelt property", `inpt: {}
do:
  - a: { set: { x: '${ nofn }' }, ift: .x, then: nowhere, timeout: { after: PT1S } }
  - b: { wait: { second: 1 }, then: nowhere }
`, []string{"SW502", "SW201", "SW201"}},
		{"undefined names are reported beside a schema in the wrong place", `input: { schema: { type: object } }
do:
  - a: { call: nofunction, timeout: nope, then: nowhere }
`, []string{"SW203", "SW203", "SW201"}},
		{"undefined names are reported beside a misspelt timeout of the workflow", `timout: { after: PT1S }
do:
  - a: { raise: { error: nope } }
  - b: { call: nofunction }
`, []string{"SW203", "SW203"}},
		{"a misspelt use leaves names undefined", `uses: { errors: {} }
do:
  - a: { raise: { error: nope } }
`, nil},
		{"a section under another name leaves names undefined", `definitions: { errors: {} }
do:
  - a: { raise: { error: nope } }
`, nil},
		{"a misspelt each leaves a variable unbound", `do:
  - a: { for: { eachh: x, in: '[]' }, do: [{ b: { set: { y: $x } } }] }
`, nil},
		{"what has no connection stays", `do:
  - a: { wait: { second: 1 } }
  - b: { call: http, with: { method: get, endpoint: 'https://example.com' } }
`, []string{"SW307"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.text
			if !strings.Contains(text, "document:") {
				text = checked + text
			}
			w, parsed := dsl.Parse("broken.yaml", []byte(text))
			if parsed.Err() == nil && len(c.want) == 0 {
				t.Fatal("nothing is broken")
			}
			var got []string
			for _, d := range interpreter.Check(w) {
				got = append(got, d.Code)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCheckOfBrokenDocuments checks every bad document, and every document that ends too early, with any tree that Parse returns for it.
func TestCheckOfBrokenDocuments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files in testdata", err)
	}
	for _, file := range append(files, "testdata/valid/everything.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for end := len(text); end > 0; end -= 1 + len(text)/100 {
			w, parsed := dsl.Parse(file, text[:end])
			for _, d := range interpreter.Check(w) {
				if d.File != file || d.Range.Start.Line < 1 || d.Range.End.Offset < d.Range.Start.Offset {
					t.Errorf("%v has no place (%d errors of form)", d, len(parsed.Errors()))
				}
			}
		}
	}
}

// TestEachExpressionIsAnalyzedOnce: an expression that many places contain and many rules use is analyzed once.
func TestEachExpressionIsAnalyzedOnce(t *testing.T) {
	w, found := dsl.Parse("once.yaml", []byte(checked+"do:\n  - a: { set: { a: '${ .x }', b: '${ .x }', c: '${ .y }' } }\n"))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	counting := &countingAnalyzer{}
	dsl.Check(w, counting)
	slices.Sort(counting.asked)
	if diff := cmp.Diff([]string{"${ .x }", "${ .y }"}, counting.asked); diff != "" {
		t.Error(diff)
	}
}

type countingAnalyzer struct{ asked []string }

func (c *countingAnalyzer) Functions() []string { return nil }

func (c *countingAnalyzer) Analyze(source string) (dsl.Facts, error) {
	c.asked = append(c.asked, source)
	return dsl.Facts{}, nil
}

// TestSyntaxErrorsPointIntoScalars: the place of a mistake is inside the YAML scalar, through quotes and escapes.
func TestSyntaxErrorsPointIntoScalars(t *testing.T) {
	text := []byte(checked + "do:\n  - a:\n      set: { status: \"${ \\\"\\u00e9\\\" + }\" }\n")
	w, found := dsl.Parse("place.yaml", text)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	analyzer := failing{&dsl.ExpressionError{Offset: 8, Length: 1, Message: "broken"}}
	got := dsl.Check(w, analyzer)
	if len(got) != 1 || got[0].Code != "SW501" {
		t.Fatal(got)
	}
	if marked := string(text[got[0].Range.Start.Offset:got[0].Range.End.Offset]); marked != "+" {
		t.Errorf("the mark stands under %q", marked)
	}
}

type failing struct{ err error }

func (failing) Functions() []string                 { return nil }
func (f failing) Analyze(string) (dsl.Facts, error) { return dsl.Facts{}, f.err }

// BenchmarkCheckTries1000 checks a document of 1,000 lines of tries, calls and retries.
func BenchmarkCheckTries1000(b *testing.B) {
	w, found := dsl.Parse("bench.yaml", []byte(longDocument(1000)))
	if err := found.Err(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		interpreter.Check(w)
	}
}
