package dsl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// TestRulesOfCheck checks every file of testdata/rules. Its comments contain the diagnostics of their lines, and no others are allowed. If the rule
// has a fix, it must yield the fixed file beside it.
func TestRulesOfCheck(t *testing.T) {
	for _, file := range mustRuleFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found := mustCheck(t, file, text)
			compareDiagnostics(t, found, mustWanted(t, string(text)))
			code := filepath.Base(file)[:len("SW000")]
			i := slices.IndexFunc(found, func(d dsl.Diagnostic) bool { return d.Code == code && len(d.Fix) > 0 })
			if i < 0 {
				return
			}
			fixed, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".fixed.yaml")
			if err != nil {
				t.Fatal(err)
			}
			repaired := applied(text, found[i].Fix)
			if diff := cmp.Diff(string(fixed), string(repaired)); diff != "" {
				t.Errorf("fixed (-want +got):\n%s", diff)
			}
			if after := mustCheck(t, file, repaired); holds(after, found[i]) > 0 {
				t.Errorf("the fix leaves %v", after)
			}
		})
	}
}

func mustRuleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/rules/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files in testdata/rules", err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".fixed.yaml") })
}

func mustCheck(t *testing.T, file string, text []byte) dsl.Diagnostics {
	t.Helper()
	w, found := dsl.Parse(file, text)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return interpreter.Check(w)
}

// TestEveryRuleOfCheckIsTested: each has a bad document.
func TestEveryRuleOfCheckIsTested(t *testing.T) {
	var all strings.Builder
	for _, file := range append(mustRuleFiles(t), "rules_test.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	ofCheck := regexp.MustCompile(`^SW[2-79]`)
	for _, r := range dsl.Rules() {
		if ofCheck.MatchString(r.Code) && !strings.Contains(all.String(), r.Code) {
			t.Errorf("no bad document for %s", r.Code)
		}
	}
}

// TestIgnoreNeedsAReason: a comment without a reason is reported, and hides no diagnostic.
func TestIgnoreNeedsAReason(t *testing.T) {
	const text = `document: { dsl: 1.0.3, namespace: demo, name: rule, version: 0.1.0 }
do:
  # swrun:ignore SW307
  - a:
      call: http
      with: { method: get, endpoint: 'https://example.com' }
`
	var got []string
	for _, d := range mustCheck(t, "ignore.yaml", []byte(text)) {
		got = append(got, d.Code)
	}
	if diff := cmp.Diff([]string{"SW901", "SW307"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestOfficialExamplesCheck: the specification's examples have no errors.
func TestOfficialExamplesCheck(t *testing.T) {
	files, err := filepath.Glob("../../shared/spec/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the specification's examples are not beside the checkout (../shared/spec/examples)")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range mustCheck(t, filepath.Base(file), text).Errors() {
			t.Error(d)
		}
	}
}

// BenchmarkCheck1000 checks a document of 1,000 lines.
func BenchmarkCheck1000(b *testing.B) {
	text := []byte("document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0}\ndo:\n")
	for i := range 333 {
		text = append(text, []byte("  - t"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26)+":\n      set:\n        n: ${ .n + 1 }\n")...)
	}
	w, found := dsl.Parse("bench.yaml", text)
	if err := found.Err(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		interpreter.Check(w)
	}
}
