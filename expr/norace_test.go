//go:build !race

package expr_test

import "time"

// The most that a hostile expression may use.
const (
	longest = 20 * time.Second // long enough for a slow machine; longer is a hang
	largest = 256 << 20
	words   = "2000" // of an ordinary text
	// everyNth has all programs evaluated that need much time.
	everyNth = 1
)
