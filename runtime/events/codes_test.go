package events

import (
	"fmt"
	"testing"

	"github.com/swrun/swrun/expr"
)

// TestCodesAreBounded: expressions in use are compiled once, for any number of others in between; unused expressions are dropped.
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

// TestLongCodesAreBounded: the total length of the cached expressions is limited, including expressions that cannot be compiled, and an
// expression in use stays.
func TestLongCodesAreBounded(t *testing.T) {
	for name, begin := range map[string]string{"that compile": ".data", "that do not": "("} {
		t.Run(name, func(t *testing.T) {
			c := &codes{}
			const length, others = 32 << 10, 4 * maxCodeBytes / (32 << 10)
			for n := range others {
				c.of(fmt.Sprintf("%s%*s", begin, length-len(begin), fmt.Sprintf("+ %d", n)))
				c.of(" .data.used ")
				bytes := 0
				for _, kept := range []map[string]*expr.Code{c.now, c.before} {
					for text := range kept {
						bytes += len(text)
					}
				}
				if bytes > 2*maxCodeBytes {
					t.Fatalf("expressions of %d bytes are kept", bytes)
				}
			}
			if c.compiled != others+1 {
				t.Errorf("%d expressions were compiled %d times", others+1, c.compiled)
			}
		})
	}
}
