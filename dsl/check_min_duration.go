package dsl

import (
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// minDuration returns the minimum time of a task without its own timeout, if nothing fails. Waits are exact; a fork takes as long as its longest
// branch, or its shortest branch if they compete. Time that depends on data or on other systems counts as zero.
func (c *checker) minDuration(t Task) time.Duration {
	if t.Base().If.Text != "" {
		return 0
	}
	return t.minDuration(c)
}

// boundedMinDuration returns the minimum time of a task with its own timeout.
func (c *checker) boundedMinDuration(t Task) time.Duration {
	least := c.minDuration(t)
	if limit, known := knownLength(c.w.TimeoutAfter(t.Base().Timeout)); known {
		least = min(least, limit)
	}
	return least
}

// minDurationOfList returns the minimum time of a list, up to the first task after which the flow may leave it.
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
