package worker

import (
	"sync"
	"time"
)

// contact tells since when the store has answered without a break. After a break that was longer than leases last, the
// leases of all workers have ended, and none of them is dead: who takes their instances at once counts deaths that there
// were not.
type contact struct {
	most  time.Duration // that may pass between two answers
	least time.Duration // that others have to renew their leases

	mu          sync.Mutex
	since, last time.Time
}

// answered records that the store has answered.
func (c *contact) answered(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() || now.Sub(c.last) > c.most {
		c.since = now
	}
	c.last = now
}

// broke records that the store could not be worked with.
func (c *contact) broke(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = now
}

// left returns how long it takes, if there is no break, until leases that have ended can be taken for those of the dead; 0 if
// they can be.
func (c *contact) left(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() || now.Sub(c.last) > c.most {
		return c.least
	}
	return max(0, c.least-now.Sub(c.since))
}
