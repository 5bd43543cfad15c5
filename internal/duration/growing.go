package duration

import (
	"math"
	"time"
)

// Growing is a sequence of delays, each of which is longer than the one before by a factor.
type Growing struct {
	Initial time.Duration
	Factor  float64
	Max     time.Duration // of each delay; 0 means Max of this package
}

// At returns delay n, which counts from 1.
func (g Growing) At(n int) time.Duration {
	longest := Max
	if g.Max > 0 {
		longest = min(longest, g.Max)
	}
	grown := float64(g.Initial) * math.Pow(g.Factor, float64(n-1))
	if grown > float64(longest) {
		return longest
	}
	return time.Duration(grown)
}
