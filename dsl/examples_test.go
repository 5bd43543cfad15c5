package dsl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestOfficialExamples parses every example of the specification.
func TestOfficialExamples(t *testing.T) {
	files, err := filepath.Glob("../../shared/spec/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the specification's examples are not beside the checkout (../shared/spec/examples)")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, diagnostics := dsl.Parse(filepath.Base(file), text)
			for _, d := range diagnostics.Errors() {
				t.Error(d.Error())
			}
		})
	}
}
