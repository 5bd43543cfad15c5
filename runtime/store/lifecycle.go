package store

import (
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// Lifecycle is the part of a run that a store interprets: its owner, and the times at which it needs attention. Times are whole
// milliseconds in UTC by the store's clock, so that == compares them; the zero time means never. The transitions are in the files
// transition*.go.
type Lifecycle struct {
	Status   interpreter.Status // the phase at the last commit
	Reason   string             // why it is closed: completed, faulted, timed_out, cancelled, terminated; or Quarantined
	Epoch    int64
	Nonce    string
	Owner    string    // worker that holds the token; empty without an owner
	Version  int64     // grows with each commit
	Wake     time.Time // when the run wants to be looked at
	Deadline time.Time // the earliest deadline in force
	Ready    time.Time // since when it may be claimed; zero if it may not
	Begun    bool      // while it may be claimed: it comes before all that is new
	Read     int64     // messages that were ever consumed
	Deaths   int64     // owners lost since the last progress
	// AwaitsSlot reports that the owner only waits for a slot on behalf of the run. The loss of such an owner is not counted.
	AwaitsSlot bool
	Created    time.Time
	Started    time.Time // when the first owner took the run; before that, when it may be taken; zero if it ended before
	Closed     time.Time
	Records    int64 // of history
	Entries    int64 // of history
	// The next fields appear in lists, which do not load the state: the attempts of the most-tried task, whether a task is being retried,
	// and the failure of the run.
	Attempts int64 // 0 and 1 both mean that none was tried again
	Retrying bool
	Failure  Failure
	// Needs are the requirements for a worker to continue the run. They are empty if there is no special need, or as long as the needs are
	// unknown (Lifecycle.Needed).
	Needs       Needs
	NeededSince time.Time
	// Awaits is the number of activities that the run waited for when its owner last stored it. While the run is parked, as many activities
	// are stored beside it.
	Awaits  int64
	Listens Listens // the events that the run listens for; empty for none
	// Continuation is the ID of the run in the same namespace that was last forked from this run to continue in its place; empty for none.
	// It is set before that run starts.
	Continuation string
	// Parked is how many activities were taken out of their queues since the run was suspended: each take that finds it suspended adds one. A commit
	// that resumes the run puts all of them back.
	Parked int64
	// Waits lists the causes for which tasks of the run waited when its owner last stored it. Records of form 1 do not contain it.
	Waits interpreter.Waits
	// Trouble is the error of a run that is faulted or retries a task.
	Trouble Trouble

	// The following fields are stored beside the record and read with it. Writing them does not write the record.

	Mail  int64     // messages that were ever delivered
	Lease time.Time // when the owner's lease ends; zero if the owner holds no lease
}

// Failure is the failure of a run as shown in lists; zero for a run that did not fail.
type Failure struct {
	Type        string // of the error; at most maxFailureType bytes of it
	TimeoutKind string // kind of the run's own deadline that ended it; otherwise empty
}

// maxFailureType limits the length of an error type in a record, since workflows choose the types of errors that they raise.
const maxFailureType = 256

// NewFailure returns the failure of a run that ended with an error.
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

// Quarantined is the Reason of a run that is not executed because it repeatedly killed its owners. Its deadlines still apply: it can be
// claimed, but an owner that reads this Reason only ends the run if its time is over, or sets the time of the next check
// (Execution.confine).
const Quarantined = "quarantined"

// Held reports whether a worker holds the token.
func (r *Lifecycle) Held() bool { return r.Owner != "" }

// Unread reports whether there are messages that no owner has consumed.
func (r *Lifecycle) Unread() bool { return r.Mail > r.Read }

// Expires reports whether a run that was never started is over at a time.
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
