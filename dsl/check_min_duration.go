package dsl

import (
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// minDuration is the least time that a task takes without its own timeout, if nothing fails: waits are exact, branches take
// as long as the longest one, or the shortest if they compete, and all that depends on data or the outside counts
// for nothing.
func (c *checker) minDuration(t Task) time.Duration {
	if t.Base().If.Text != "" {
		return 0
	}
	return t.minDuration(c)
}

// boundedMinDuration is the least time of a task with its own timeout.
func (c *checker) boundedMinDuration(t Task) time.Duration {
	least := c.minDuration(t)
	if limit, known := knownLength(c.w.TimeoutAfter(t.Base().Timeout)); known {
		least = min(least, limit)
	}
	return least
}

// minDurationOfList is the least time of a list, as far as it runs straight through.
func (c *checker) minDurationOfList(tasks TaskList) time.Duration {
	var sum time.Duration
	for _, t := range tasks {
		sum = min(sum+c.boundedMinDuration(t), duration.Max)
		if c.mayLeave(t) || c.mayEnd(t) {
			break
		}
	}
	return sum
}
