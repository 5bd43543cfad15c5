package store

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// The causes for which a run waits: for a worker, or because its tasks wait.
const (
	WaitsForWorker   = "worker" // a worker to take the run, or a worker that meets the needs of a task
	WaitsForQueue    = "queue"  // that is paused, or for its turn in it
	WaitsForActivity = string(interpreter.WaitActivity)
	WaitsForEvent    = string(interpreter.WaitEvent)
	WaitsForChild    = string(interpreter.WaitChild)
	WaitsForTimer    = string(interpreter.WaitTimer)
)

// WaitingFor returns all causes for which a run can wait. Causes that need action by an operator come first.
func WaitingFor() []string {
	return []string{WaitsForQueue, WaitsForWorker, WaitsForActivity, WaitsForEvent, WaitsForChild, WaitsForTimer}
}

// Surroundings is the information besides the record that determines the causes for which a run waits.
type Surroundings struct {
	At time.Time // by the store's clock
	// Gone reports that no worker is present that could hold the run.
	Gone bool
	// Unknown reports that the presence of workers is unknown. An expired lease then has no meaning.
	Unknown bool
	// HeldUp reports whether a need cannot be served because its queue is paused or limited; nil if no queue is paused or limited.
	HeldUp func(Need) bool
	// ActivitiesHeldUp reports that activities of the run wait in a queue that starts no work.
	ActivitiesHeldUp bool
}

// Waiting returns the causes for which the run waits, in the order of WaitingFor. The result is empty if the run continues on its own,
// ended, or waits for a command.
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

// tasksWait returns the causes for which the tasks of the run wait. A record of form 1 does not contain them, so that they are derived from
// its other fields.
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
