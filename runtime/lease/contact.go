package lease

import "time"

// contact is since when the store has answered without interruption. After an outage every lease is expired although no worker died: a
// worker that takes their runs immediately would count deaths that did not occur.
type contact struct {
	longest     time.Duration // that may pass between two answers
	toRenew     time.Duration // time that other workers need to renew their leases
	since, last time.Time
}

func newContact(c Config) contact {
	return contact{longest: max(c.Length/2, c.Poll+c.Poll/2), toRenew: c.Length / 2}
}

// left returns how much longer the store must answer without interruption before workers with expired leases are certainly dead.
func (c *contact) left(now time.Time) time.Duration {
	if c.last.IsZero() || now.Sub(c.last) > c.longest {
		return c.toRenew
	}
	return max(0, c.toRenew-now.Sub(c.since))
}

// Answered reports that the store answered Written.
func (l *Leases[R]) Answered(now time.Time) {
	c := &l.contact
	if c.last.IsZero() || now.Sub(c.last) > c.longest {
		c.since = now
	}
	c.last = now
}

// Unreachable reports that the store could not be worked with.
func (l *Leases[R]) Unreachable(now time.Time) { l.contact.since = now }
