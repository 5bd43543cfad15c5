//go:build !race

package expr_test

import "time"

// What a hostile expression may use: the budget's own limits, with room for a machine that is busy otherwise.
const (
	longest = 600 * time.Millisecond
	largest = 256 << 20
	words   = "2000" // of an ordinary text
)
