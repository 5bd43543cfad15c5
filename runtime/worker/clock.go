package worker

import (
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/lease"
)

// storeClock is a lease.Clock for several goroutines.
type storeClock struct {
	now func() time.Time // of this process

	mu    sync.Mutex
	clock lease.Clock
}

func (c *storeClock) update(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock.Update(at, c.now())
}

func (c *storeClock) reset(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock.Reset(at, c.now())
}

func (c *storeClock) estimate() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.Estimate(c.now())
}

func (c *storeClock) until(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.Until(t, c.now())
}
