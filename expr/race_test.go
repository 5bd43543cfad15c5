//go:build race

package expr_test

import "time"

// longest is how long a hostile expression may take; the race detector slows everything down.
const longest = 5 * time.Second
