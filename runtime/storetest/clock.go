package storetest

import (
	"sync"
	"time"
)

// Clock is a clock that moves only by Advance.
type Clock struct {
	At time.Time // the initial time

	mu     sync.Mutex
	passed time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.At.Add(c.passed)
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}
