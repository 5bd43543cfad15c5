package events

import (
	"fmt"
	"testing"
)

// TestCodesAreBounded: expressions that are used are compiled once, however many others come meanwhile; those that nobody uses any more are dropped.
func TestCodesAreBounded(t *testing.T) {
	c := &codes{}
	const others = 20 * maxCodes
	for n := range others {
		if c.of(fmt.Sprintf(" .data.key%d ", n)) == nil || c.of(" .data.used ") == nil || c.of(" ( ") != nil {
			t.Fatal("an expression was not compiled as it should be")
		}
		if len(c.now) > maxCodes || len(c.before) > maxCodes {
			t.Fatalf("%d and %d expressions are kept", len(c.now), len(c.before))
		}
	}
	if c.compiled != others+2 {
		t.Errorf("%d expressions were compiled %d times", others+2, c.compiled)
	}
}
