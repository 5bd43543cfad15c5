package dsl_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/interpreter"
)

// TestTextInOtherScriptsIsNoMistake: names and data may be written in any language.
func TestTextInOtherScriptsIsNoMistake(t *testing.T) {
	text, err := os.ReadFile("testdata/other_scripts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	documents := txtar.Parse(text).Files
	if len(documents) < 32 {
		t.Errorf("only %d documents", len(documents))
	}
	for _, document := range documents {
		w, found := dsl.Parse(document.Name, append([]byte(header), document.Data...))
		for _, d := range append(found, interpreter.Check(w)...) {
			if d.Severity != dsl.SeverityInfo {
				t.Error(describeDiagnostic(d), d.File)
			}
		}
	}
}

// TestFixOfForeignCharacters: the fix of SW209 removes invisible characters and writes Latin letters. It is safe unless a sign or a name may be meant as it
// is written, and there is none for characters whose replacement could be a sign of YAML.
func TestFixOfForeignCharacters(t *testing.T) {
	emit := func(of string) string {
		return "do:\n  - a: { emit: { event: { with: { source: /a, type: " + of + " } } } }\n"
	}
	for name, c := range map[string]struct {
		text, want string
		safe       bool
	}{
		"several letters":          {emit("com.ex\u0430mpl\u0435.or\u200bder"), emit("com.example.order"), true},
		"in quotes":                {emit("'com.ex\u0430mple'"), emit("'com.example'"), true},
		"an en dash":               {emit("com.order\u2013paid"), emit("com.order-paid"), false},
		"an escape":                {emit(`"com.ex\u0430mple"`), "", false},
		"a colon":                  {emit("com\uff1a x"), "", false},
		"a quote":                  {emit("'com\u2019x'"), "", false},
		"the name of a task":       {"do:\n  - ord\u0435r: { set: { x: 1 } }\n", "do:\n  - order: { set: { x: 1 } }\n", false},
		"a script in a block":      {"do:\n  - a: { run: { script: { language: js, code: 'f(\u200b)' } } }\n", "do:\n  - a: { run: { script: { language: js, code: 'f()' } } }\n", true},
		"an expression":            {"do:\n  - a: { set: { x: '${ .y == \"p\u0430id\" }' } }\n", "do:\n  - a: { set: { x: '${ .y == \"paid\" }' } }\n", false},
		"a text with an own alias": {"do:\n  - a: { emit: { event: { with: { source: /a, type: &t com.ex\u0430mple } } } }\n  - b: { emit: { event: { with: { source: /a, type: *t } } } }\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			text := header + c.text
			w, found := dsl.Parse("foreign.yaml", []byte(text))
			for _, d := range append(found, interpreter.Check(w)...) {
				if d.Code != "SW209" {
					continue
				}
				safe := !slices.ContainsFunc(d.Fix, func(e source.Edit) bool { return !e.Safe }) && len(d.Fix) > 0
				if got := strings.TrimPrefix(string(applied([]byte(text), d.Fix)), header); safe != c.safe || got != c.want && (c.want != "" || len(d.Fix) > 0) {
					t.Errorf("got %q, safe %t", got, safe)
				}
				return
			}
			t.Error("SW209 is not reported")
		})
	}
}
