package interpreter

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTheBoundsOfSchemasAreDocumented: docs/limits.md names the bounds of schema validation.
func TestTheBoundsOfSchemasAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf("| schema | %d levels, %d values; data of %d levels and %d values; %d steps | validation |\n",
		maxSchemaDepth, maxSchemaValues, maxCheckedDepth, maxCheckedValues, maxCheckedWork)
	if !strings.Contains(string(page), row) {
		t.Errorf("docs/limits.md lacks the row\n%s", row)
	}
}
