package definition_test

import (
	"testing"

	"github.com/swrun/swrun/runtime/definition"
)

// TestLater holds which of all versions `latest` means (semantics 10.7), for stored and for local workflows alike.
func TestLater(t *testing.T) {
	ordered := []string{"", "1", "1.0.0-alpha", "2.0.0-rc.2", "2.0.0-rc.10", "0.9.0", "1.9.0", "1.10.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			if i < 2 && j < 2 { // neither is a version
				continue
			}
			if got := definition.Later(a, b); got != (i > j) {
				t.Errorf("Later(%q, %q) is %v", a, b, got)
			}
		}
	}
}
