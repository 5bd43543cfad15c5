package lease

import "time"

// Clock estimates the time of a partition of a store. The estimate lags by the time that an answer takes to arrive, and is never ahead: a
// deadline that passed by the estimate has passed at the store. Of the worker's own clock, only differences are used.
type Clock struct {
	at        time.Time // by the store
	updatedAt time.Time // by the worker
	latest    time.Time // the highest estimate that was given
}

// staleClock is the age at which an estimate is replaced by a newer one with a larger lag.
const staleClock = 5 * time.Second

// Update handles the time that the store has answered, at the moment in which the answer arrived.
func (c *Clock) Update(at, now time.Time) {
	if at.IsZero() {
		return
	}
	if since := now.Sub(c.updatedAt); c.at.IsZero() || since > staleClock || at.After(c.at.Add(since)) {
		c.at, c.updatedAt = at, now
	}
}

// Reset handles a time of the store that shows that the last estimates were wrong.
func (c *Clock) Reset(at, now time.Time) { *c = Clock{at: at, updatedAt: now} }

// Estimate returns the time by the store's clock, in whole milliseconds. It never goes back.
func (c *Clock) Estimate(now time.Time) time.Time {
	if at := c.at.Add(now.Sub(c.updatedAt)).Truncate(time.Millisecond); at.After(c.latest) {
		c.latest = at
	}
	return c.latest
}

// Until returns how long it takes, at least, until Estimate returns t or later.
func (c *Clock) Until(t, now time.Time) time.Duration {
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		t = whole.Add(time.Millisecond)
	}
	return t.Sub(c.at.Add(now.Sub(c.updatedAt)))
}
