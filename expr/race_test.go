//go:build race

package expr_test

import "time"

// What a hostile expression may use. The race detector slows everything down and makes conversions allocate that
// otherwise do not.
const (
	longest = 5 * time.Second
	largest = 2 << 30
	words   = "500" // of an ordinary text
)
