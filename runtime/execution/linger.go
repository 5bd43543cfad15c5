package execution

import "time"

// A run lingers: it stays in memory for a moment after it scheduled an activity. If the activity ends in this time, its end is stored with
// the next step of the run, and no worker has to claim the run.

// LingerPolicy decides for which activities runs linger, and learns the result.
type LingerPolicy interface {
	Lingers(queue string) bool // an activity of the queue is scheduled
	Ended(queue string)        // an activity ended in time
	InVain(queue string)       // a run has lingered for one in vain
}

// lingerFor is how many times longer than a wait that stays in memory: when many activities wait for few workers, each takes longer.
const lingerFor = 5

// linger keeps the run in memory for a moment, since an activity of a queue is scheduled.
func (x *Execution) linger(queue string) {
	if x.Lingers != nil && !x.draining && x.Lingers.Lingers(queue) {
		x.lingerUntil = x.Clock().Add(lingerFor * x.ParkAfter)
	}
}

// lingers reports whether the run stays in memory although nothing is to be done.
func (x *Execution) lingers(now time.Time) bool {
	if len(x.activities) == 0 || x.lingerUntil.IsZero() || x.draining {
		return false
	}
	if now.Before(x.lingerUntil) {
		return true
	}
	x.lingerUntil = time.Time{}
	for _, is := range x.activities {
		x.Lingers.InVain(is.queue)
	}
	return false
}
