//go:build !race

package expr_test

import "time"

// longest is how long a hostile expression may take: the wall clock of the budget and some room.
const longest = 450 * time.Millisecond
