//go:build race

package expr_test

import "time"

// What a hostile expression may use. The race detector slows everything down and makes conversions allocate that
// otherwise do not.
const (
	longest = time.Minute // tells a hang from a slow machine, and nothing of speed
	largest = 2 << 30
	words   = "500" // of an ordinary text
)
