package store

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// What a run waits for: for somebody to work on it, or for what its tasks wait for.
const (
	WaitsForWorker   = "worker" // that takes the run, or has what a task of it needs
	WaitsForQueue    = "queue"  // that is paused, or for its turn in it
	WaitsForActivity = string(interpreter.WaitActivity)
	WaitsForEvent    = string(interpreter.WaitEvent)
	WaitsForChild    = string(interpreter.WaitChild)
	WaitsForTimer    = string(interpreter.WaitTimer)
)

// WaitingFor returns all that a run can wait for. Of several, those come first that somebody has to do something about.
func WaitingFor() []string {
	return []string{WaitsForQueue, WaitsForWorker, WaitsForActivity, WaitsForEvent, WaitsForChild, WaitsForTimer}
}

// Surroundings is what has to be known besides its record to say what a run waits for.
type Surroundings struct {
	At time.Time // by the store's clock
	// Gone says that no worker is there which could hold the run.
	Gone bool
	// Unknown says that it is not known whether a worker is there: that a lease has ended means nothing then.
	Unknown bool
	// HeldUp reports whether nobody begins what needs something since its queue is paused or limited; nil if no queue is.
	HeldUp func(Need) bool
	// ActivitiesHeldUp says that activities of the run wait in a queue of which nothing is begun.
	ActivitiesHeldUp bool
}

// Waiting returns what the run waits for, in the order of WaitingFor. It is empty if the run goes on by itself, has ended, or waits for a command.
func (r *Lifecycle) Waiting(in Surroundings) []string {
	switch {
	case r.Status.Final() || r.Status == interpreter.StatusSuspended || r.Reason == Quarantined:
		return nil
	case r.Held() && (in.Gone || !in.Unknown && !r.Lease.After(in.At)), r.Held() && r.AwaitsSlot, !r.Held() && (!r.Ready.IsZero() || reached(r.Wake, in.At)):
		return []string{WaitsForWorker}
	case r.Status == interpreter.StatusPending && r.Started.After(in.At):
		return []string{WaitsForTimer}
	}
	found := map[string]bool{}
	for _, n := range r.Needed() {
		found[r.needFor(n, in)] = true
	}
	for _, w := range r.tasksWait() {
		if w == interpreter.WaitActivity && in.ActivitiesHeldUp {
			found[WaitsForQueue] = true
		} else {
			found[string(w)] = true
		}
	}
	return slices.DeleteFunc(WaitingFor(), func(w string) bool { return !found[w] })
}

func (r *Lifecycle) needFor(n Need, in Surroundings) string {
	if in.HeldUp != nil && in.HeldUp(n) {
		return WaitsForQueue
	}
	return WaitsForWorker
}

// tasksWait returns what the tasks of the run wait for. A record of form 1 does not say it: then it is concluded from what that has.
func (r *Lifecycle) tasksWait() []interpreter.Wait {
	switch {
	case r.Waits != "" || r.Status != interpreter.StatusWaiting:
		return r.Waits.All()
	case r.Awaits > 0:
		return []interpreter.Wait{interpreter.WaitActivity}
	case r.Listens != "":
		return []interpreter.Wait{interpreter.WaitEvent}
	case r.Wake.IsZero() || r.Wake.Equal(r.Deadline):
		return []interpreter.Wait{interpreter.WaitChild}
	}
	return []interpreter.Wait{interpreter.WaitTimer}
}
