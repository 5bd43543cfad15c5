package store

import (
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Set is one of the sets of a partition. A run stands in exactly one of them, which follows from its record alone.
type Set string

// The sets, each ordered by a time.
const (
	SetNew     Set = "new"     // may be claimed: since when
	SetBegun   Set = "begun"   // may be claimed, before all that is new: since when
	SetWaiting Set = "waiting" // for a time or for a message: when it wants to be looked at
	SetHeld    Set = "held"    // by a worker: when its owner counts as hanging
	SetClosed  Set = "closed"  // has ended: when
)

// Sets returns all sets.
func Sets() []Set { return []Set{SetNew, SetBegun, SetWaiting, SetHeld, SetClosed} }

// Place is where a run stands.
type Place struct {
	Set   Set
	At    time.Time // its order in the set; zero, which comes after all others, for what no time moves
	Owner string    // who holds it, in SetHeld
}

// Place returns where the run stands.
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

// Due returns when somebody has to look at a run that is not ready, zero for never: an owner looks itself, unless it is
// dead or hangs.
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
