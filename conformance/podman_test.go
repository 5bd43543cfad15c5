package conformance

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/enginetest"
)

// TestCasesByPodman runs the cases of containers with a real engine, if it is installed.
func TestCasesByPodman(t *testing.T) {
	p, err := enginetest.NewPodman(t.TempDir())
	if err != nil {
		t.Skip("Podman cannot run containers here: ", err)
	}
	t.Cleanup(p.Close)
	ran := 0
	for _, c := range mustCases(t) {
		if !strings.HasPrefix(c.name, "run_container/") || !c.runs() {
			continue
		}
		ran++
		t.Run(c.name, func(t *testing.T) {
			c.verify(t, c.mustRunIn(t, newOutsideWith(c.files, p.Dial)))
			if err := p.Clear(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if ran < 15 {
		t.Errorf("only %d cases", ran)
	}
}
