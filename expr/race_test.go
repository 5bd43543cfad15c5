//go:build race

package expr_test

import "time"

// The most that a hostile expression may use. The race detector slows everything down, and makes conversions allocate that
// do not allocate without it.
const (
	longest = time.Minute // long enough for a slow machine; longer is a hang
	largest = 2 << 30
	words   = "500" // of an ordinary text
	// everyNth has one of five programs evaluated that need much time: each has one goroutine. The other half of .ci/run evaluates all.
	everyNth = 5
)
