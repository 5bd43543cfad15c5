package dsl

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl/source"
)

// TestTheBoundsOfDocumentsAreDocumented holds docs/limits.md to the bounds of a document.
func TestTheBoundsOfDocumentsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf("| document | %d bytes, %d levels, %d values, task names of %d characters | a diagnostic when it is read |\n",
		source.MaxSize, source.MaxDepth, source.MaxNodes, maxName)
	if !strings.Contains(string(page), row) {
		t.Errorf("docs/limits.md lacks the row\n%s", row)
	}
}
