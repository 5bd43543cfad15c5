package store

import (
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// Lifecycle is what a store has to know of a run: who may write to it, and when it has to be looked at. Times are
// whole milliseconds in UTC by the store's clock, so that == compares them; the zero time is never. What operations make of
// it is in the files transition*.go.
type Lifecycle struct {
	Status   interpreter.Status // the phase at the last commit
	Reason   string             // why it is closed: completed, faulted, timed_out, cancelled, terminated; or Quarantined
	Epoch    int64
	Nonce    string
	Owner    string    // the worker that holds the token; empty for nobody
	Version  int64     // grows with each commit
	Wake     time.Time // when the run wants to be looked at
	Deadline time.Time // the earliest deadline in force
	Ready    time.Time // since when it may be claimed; zero if it may not
	Begun    bool      // while it may be claimed: it comes before all that is new
	Read     int64     // messages that were ever consumed
	Deaths   int64     // owners lost since the last progress
	// AwaitsSlot says that the owner does nothing for the run but wait for a slot: the loss of such an owner is not counted.
	AwaitsSlot bool
	Created    time.Time
	Started    time.Time // when its first owner took it; before that, when it may be taken; zero if it has ended before
	Closed     time.Time
	Records    int64 // of history
	Entries    int64 // of history
	// What lists say of a run whose state they do not load: how often the task was tried that was tried most often, whether one is tried again
	// now, and how the run has failed.
	Attempts int64 // 0 and 1 both mean that none was tried again
	Retrying bool
	Failure  Failure
	// Needs is what a worker needs to go on with the run; empty for nothing special, or as long as that is not known (Lifecycle.Needed).
	Needs       Needs
	NeededSince time.Time
	// Awaits is for how many activities the run waited when its owner stored it last: while it is parked, so many are stored beside it.
	Awaits  int64
	Listens Listens // the events that the run listens for; empty for none
	// Continuation is the id of the run, in the same namespace, that was forked last from this one to go on in its place; empty for none. It is set
	// before that run starts.
	Continuation string
	// Parked is how many activities were taken out of their queues since the run was suspended: each take that finds it suspended adds one. A commit
	// that resumes the run puts all of them back.
	Parked int64
	// Waits is what the tasks of the run waited for when its owner stored it last. Records of form 1 do not have it.
	Waits interpreter.Waits
	// Trouble is what went wrong in a run that has faulted, or tries a task again.
	Trouble Trouble

	// What follows is kept beside the record, and read with it: who writes it does not write the record.

	Mail  int64     // messages that were ever delivered
	Lease time.Time // until when the owner's lease lasts; zero if it has none any more
}

// Failure is how a run has failed, as far as lists say it; zero for one that has not.
type Failure struct {
	Type        string // of the error; at most maxFailureType bytes of it
	TimeoutKind string // of the deadline of its own that has ended it; empty if none has
}

// maxFailureType bounds the type of an error in a record: a workflow may raise what it likes.
const maxFailureType = 256

// NewFailure returns the failure of a run that has ended with an error.
func NewFailure(kind, timeoutKind string) Failure {
	return Failure{Type: shorten.To(kind, maxFailureType), TimeoutKind: timeoutKind}
}

// The reasons of runs that have not simply ended with their status.
const (
	ReasonTimedOut   = "timed_out"
	ReasonTerminated = "terminated"
)

// ClosedReasons returns all reasons why runs are closed.
func ClosedReasons() []string {
	return []string{
		string(interpreter.StatusCompleted), string(interpreter.StatusFaulted), ReasonTimedOut, string(interpreter.StatusCancelled), ReasonTerminated,
	}
}

// Quarantined is the Reason of a run whose work does not go on because it has killed its owners. Its time does: it
// can be claimed, and an owner that finds this Reason only ends it if its time is over, or says when to look
// again (Execution.confine).
const Quarantined = "quarantined"

// Held reports whether somebody holds the token.
func (r *Lifecycle) Held() bool { return r.Owner != "" }

// Unread reports whether there are messages that no owner has consumed.
func (r *Lifecycle) Unread() bool { return r.Mail > r.Read }

// Expires reports whether a run that nobody has started is over at a time.
func (r *Lifecycle) Expires(at time.Time) bool {
	return r.Status == interpreter.StatusPending && reached(r.Deadline, at)
}

// reached reports whether it is a time already; the zero time is never reached.
func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Moment returns the time that a store keeps as milliseconds since 1970; the zero time for 0.
func Moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Millis returns the milliseconds that a store keeps for a time, 0 for the zero time; a time within a millisecond counts as
// its end, so that nothing is early.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// millisecondOf returns the beginning of the millisecond that a time is in.
func millisecondOf(t time.Time) time.Time { return Moment(t.UnixMilli()) }
