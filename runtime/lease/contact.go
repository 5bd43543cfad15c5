package lease

import "time"

// contact knows since when the store has answered without a break. After an outage every lease has ended though no worker
// died: who takes their runs at once counts deaths that never were.
type contact struct {
	longest     time.Duration // that may pass between two answers
	toRenew     time.Duration // what other workers need to renew their leases
	since, last time.Time
}

func newContact(c Config) contact {
	return contact{longest: max(c.Length/2, c.Poll+c.Poll/2), toRenew: c.Length / 2}
}

// left returns how much longer the store has to answer without a break before workers whose leases have ended are certainly dead.
func (c *contact) left(now time.Time) time.Duration {
	if c.last.IsZero() || now.Sub(c.last) > c.longest {
		return c.toRenew
	}
	return max(0, c.toRenew-now.Sub(c.since))
}

// Answered reports that the store has answered what was written.
func (l *Leases[R]) Answered(now time.Time) {
	c := &l.contact
	if c.last.IsZero() || now.Sub(c.last) > c.longest {
		c.since = now
	}
	c.last = now
}

// Unreachable reports that the store could not be worked with.
func (l *Leases[R]) Unreachable(now time.Time) { l.contact.since = now }
