package dsl_test

import (
	"os"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestEverythingIsValid: the document that uses every property has no diagnostics.
func TestEverythingIsValid(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, found := dsl.Parse("everything.yaml", text); len(found) > 0 {
		t.Error(found)
	}
}
