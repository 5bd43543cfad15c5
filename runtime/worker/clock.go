package worker

import (
	"sync"
	"time"
)

// storeClock estimates what time it is in a partition of a store. The estimate lags behind by the time that an answer
// takes to arrive, and is never ahead: what a worker believes to be over is over.
type storeClock struct {
	now func() time.Time // of this process; only differences of it are used

	mu        sync.Mutex
	at        time.Time // by the store
	updatedAt time.Time // by this process
	latest    time.Time // the highest estimate that was given
}

// staleClock is after how long an estimate is replaced by a newer one that lags more.
const staleClock = 5 * time.Second

// update records the time that the store has answered, at the moment in which the answer arrived.
func (c *storeClock) update(at time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if since := now.Sub(c.updatedAt); c.at.IsZero() || since > staleClock || at.After(c.at.Add(since)) {
		c.at, c.updatedAt = at, now
	}
}

// reset records that the last estimates were wrong.
func (c *storeClock) reset(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.updatedAt, c.latest = at, c.now(), time.Time{}
}

// estimate returns the time by the store's clock, in whole milliseconds. It never goes back.
func (c *storeClock) estimate() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.at.Add(c.now().Sub(c.updatedAt)).Truncate(time.Millisecond)
	if at.After(c.latest) {
		c.latest = at
	}
	return c.latest
}

// until returns how long it takes, at least, until the store's clock shows t.
func (c *storeClock) until(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.Sub(c.at.Add(c.now().Sub(c.updatedAt)))
}
