package expr

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTheBoundsAreDocumented: docs/limits.md names the bounds of an evaluation.
func TestTheBoundsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	l := defaultLimits()
	row := fmt.Sprintf("| expression | %d bytes of text; %d steps, %d MiB of memory (an evaluation allocates at most %d MiB in all), %d units of work; a result of %d MiB and %d levels; the expressions of one value, or of the cases of one switch, together four times that | expression |\n",
		maxSource, l.steps, l.alloc>>20, 2*l.alloc>>20, l.work, l.size>>20, l.depth)
	if MaxCombinedWork != 4*(l.steps/stepsPerUnit+l.work/workPerUnit) {
		t.Errorf("%d units are not four times the budget of an evaluation", MaxCombinedWork)
	}
	if !strings.Contains(string(page), row) {
		t.Errorf("docs/limits.md lacks the row\n%s", row)
	}
}
