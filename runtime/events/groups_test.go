package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/interpreter"
)

// TestGroupsAreBounded: the groups of a namespace are limited by number and by bytes, with long types and with long expressions.
func TestGroupsAreBounded(t *testing.T) {
	for name, filter := range map[string]func(n int) interpreter.EventFilter{
		"short": func(n int) interpreter.EventFilter {
			return interpreter.EventFilter{Type: "t", From: fmt.Sprintf(`[".k%d"]`, n)}
		},
		"long expressions": func(n int) interpreter.EventFilter {
			return interpreter.EventFilter{Type: "t", From: fmt.Sprintf(`[".k%04000d"]`, n)}
		},
		"long types": func(n int) interpreter.EventFilter {
			return interpreter.EventFilter{Type: fmt.Sprintf("%04000d", n), From: `[".k"]`}
		},
		"too long a type": func(n int) interpreter.EventFilter {
			return interpreter.EventFilter{Type: fmt.Sprint(n, strings.Repeat("x", maxGroupSize)), From: `[".k"]`}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var g groups
			for n := range 3 * maxGroups {
				g.learn([]interpreter.EventFilter{filter(n)}, nil)
				bytes, kept := 0, g.space("").known
				for f := range kept {
					bytes += len(f.Type) + len(f.From)
				}
				if len(kept) > maxGroups || bytes > maxGroupBytes {
					t.Fatalf("%d groups of %d bytes are kept", len(kept), bytes)
				}
			}
		})
	}
}
