//go:build !race

package expr_test

import "time"

// What a hostile expression may use.
const (
	longest = 20 * time.Second // tells a hang from a slow machine, and nothing of speed
	largest = 256 << 20
	words   = "2000" // of an ordinary text
)
