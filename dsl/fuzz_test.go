package dsl_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
)

// FuzzParse checks the properties that hold for every text: Parse returns a tree, its diagnostics are complete and inside the text, and every place
// of the document is found.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/syntax/*.yaml", "../examples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range []string{"0: [:!00 \xef", "0::", "{{},<<}", `{"do":[{"a":{"set":{"x":"\ud83d\ude00"}}}]}`, "&a [*a]", "a: &a {x: 1}\nb: {<<: *a, y: 2}", "\xef\xbb\xbf%YAML 1.2\n---\na: 1", "a: &a {<<: *a}", "a: {b: 'x }\n", "{\"a\":"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, diagnostics := dsl.Parse("fuzz.yaml", text)
		if w == nil || w.Source == nil {
			t.Fatal("no tree")
		}
		for _, d := range diagnostics {
			checkDiagnostic(t, d, text)
		}
		if w.Source.Data("") == nil && len(w.Do) > 0 {
			t.Error("tasks, but no data")
		}
		if len(text) < 4000 {
			checkPlaces(t, w.Source, w.Source.Data(""), "")
		}
		dsl.Walk(w, func(task dsl.Task) bool { return task.Base().Name != "\x00" })
	})
}

func checkDiagnostic(t *testing.T, d dsl.Diagnostic, text []byte) {
	t.Helper()
	if d.Code == "" || d.Message == "" || strings.Contains(d.Message, "\n") || d.File != "fuzz.yaml" {
		t.Errorf("incomplete: %+v", d)
	}
	checkRange(t, d.Range, len(text))
	for _, r := range d.Related {
		checkRange(t, r.Range, len(text))
	}
	for _, e := range d.Fix {
		checkRange(t, e.Range, len(text))
	}
}

func checkRange(t *testing.T, r source.Range, size int) {
	t.Helper()
	if r.Start.Line < 1 || r.Start.Column < 1 || r.Start.Offset < 0 || r.End.Offset < r.Start.Offset || r.End.Offset > size {
		t.Errorf("not a range of %d bytes: %+v", size, r)
	}
}

// checkPlaces looks up everything in v.
func checkPlaces(t *testing.T, s *dsl.Source, v any, at dsl.Pointer) {
	t.Helper()
	checkRange(t, s.Key(at), len(s.Text))
	checkRange(t, s.Value(at), len(s.Text))
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			checkPlaces(t, s, inner, at.Key(key))
		}
	case []any:
		for i, inner := range v {
			checkPlaces(t, s, inner, at.Index(i))
		}
	case string:
		checkRange(t, s.Within(at, 0, len(v)), len(s.Text))
		checkRange(t, s.Within(at, len(v)/2, len(v)+5), len(s.Text))
	}
}

// FuzzDuration checks that a duration that ParseDuration accepts is the same after it is written and read again, and is neither negative nor longer
// than allowed.
func FuzzDuration(f *testing.F) {
	for _, text := range []string{"PT2S", "P1DT12H", "P1Y2M3W4DT5H6M7.89S", "PT0.0000000001S", "P", "PT", "P1M1Y", "PT1,5S", "PT99999999999H", "-PT1S", "P0.5Y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := dsl.ParseDuration(text)
		if err != nil {
			return
		}
		if d.Exact < 0 || d.Years < 0 || d.Months < 0 {
			t.Errorf("%q is negative: %+v", text, d)
		}
		again, err := dsl.ParseDuration(d.String())
		if err != nil || again != d {
			t.Errorf("%q is %+v, written as %q it is %+v, %v", text, d, d, again, err)
		}
	})
}

// FuzzPointer checks that a key comes out of a pointer as it went in, and that the pointer leads to it.
func FuzzPointer(f *testing.F) {
	for _, name := range []string{"a", "", "a/b", "~", "~1", "~01", "/", "é", "\x00", "0", "-1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		at := dsl.Pointer("").Key("do").Item(0, name)
		if tokens := at.Tokens(); len(tokens) != 3 || tokens[2] != name {
			t.Fatalf("%q comes back as %q", name, tokens)
		}
		text, err := json.Marshal(map[string]any{"do": []any{map[string]any{name: "x"}}})
		if err != nil || !utf8.ValidString(name) || len(text) > 1000 {
			return
		}
		w, _ := dsl.Parse("pointer.json", text)
		if got := w.Source.Data(at); got != "x" && w.Source.Data("") != nil {
			t.Errorf("%q leads to %v", at, got)
		}
	})
}
