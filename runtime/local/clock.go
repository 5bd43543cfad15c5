package local

import "time"

// clock is the time of a run.
type clock struct {
	real    func() time.Time
	virtual bool
	began   time.Time
	at      time.Time // of virtual time
}

func newClock(c Config) *clock {
	now := stripped(c.Now())
	return &clock{real: c.Now, virtual: c.Virtual, began: now, at: now}
}

// stripped returns t as it comes back from storage, so that a stored state and a live one are the same.
func stripped(t time.Time) time.Time { return t.UTC().Round(0) }

func (c *clock) now() time.Time {
	if c.virtual {
		return c.at
	}
	return stripped(c.real())
}

// jump moves virtual time.
func (c *clock) jump(to time.Time) { c.at = to }

// pass lets virtual time pass with real time until the function that it returns is called.
func (c *clock) pass() func() {
	began, done := c.real(), false
	return func() {
		if c.virtual && !done {
			c.at = c.at.Add(c.real().Sub(began))
		}
		done = true
	}
}
