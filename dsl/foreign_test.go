package dsl_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun/dsl"
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
