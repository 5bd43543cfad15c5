package store

import (
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Set is one of the sets of a partition. A run is in exactly one of them, determined by its record alone.
type Set string

// The sets, each ordered by a time.
const (
	SetNew     Set = "new"     // may be claimed: since when
	SetBegun   Set = "begun"   // may be claimed, before all that is new: since when
	SetWaiting Set = "waiting" // for a time or for a message: when it wants to be looked at
	SetHeld    Set = "held"    // by a worker: when its owner counts as hanging
	SetClosed  Set = "closed"  // ended; ordered by the end
)

// Sets returns all sets.
func Sets() []Set { return []Set{SetNew, SetBegun, SetWaiting, SetHeld, SetClosed} }

// Place is the position of a run in the sets of its partition.
type Place struct {
	Set   Set
	At    time.Time // its order in the set; zero, which sorts last, for runs without a time
	Owner string    // the owner, in SetHeld
}

// Place returns the position of the run.
func (r *Lifecycle) Place() Place {
	switch {
	case r.Status.Final():
		return Place{Set: SetClosed, At: r.Closed}
	case r.Held():
		return Place{Set: SetHeld, At: r.hangs(), Owner: r.Owner}
	case !r.Ready.IsZero() && r.Begun:
		return Place{Set: SetBegun, At: r.Ready}
	case !r.Ready.IsZero():
		return Place{Set: SetNew, At: r.Ready}
	}
	return Place{Set: SetWaiting, At: r.Wake}
}

// Due returns when a run that is not ready needs attention; zero for never. An owner checks its runs itself, unless it is dead or hangs.
func (r *Lifecycle) Due() time.Time {
	if r.Held() {
		return interpreter.Earlier(r.hangs(), r.Lease)
	}
	return r.Wake
}

// hangs returns when the owner of a run counts as hanging: it has let a wake-up pass.
func (r *Lifecycle) hangs() time.Time {
	if r.Wake.IsZero() {
		return time.Time{}
	}
	return r.Wake.Add(HangTolerance)
}
