package execution

import (
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// Outcome is how a run ended.
type Outcome struct {
	ID        string
	Status    interpreter.Status // completed, faulted or cancelled
	Output    any                // if completed
	Fault     *errors.Error      // if faulted
	Reason    string             // reason of the cancellation, if given
	Actor     string             // actor of the cancellation, if known
	TimedOut  bool               // faulted because a deadline of its own has passed
	StartedAt time.Time          // on the run's clock; zero if no worker has taken it
	EndedAt   time.Time          // on the run's clock
}

// NewOutcome returns the outcome of a run that ended.
func NewOutcome(s *interpreter.State, endedAt time.Time) Outcome {
	return Outcome{
		ID: s.ID, Status: s.Status, Output: s.Output, Fault: s.Fault, Reason: s.Order.Reason,
		Actor: s.Order.Actor, TimedOut: s.TimedOut, StartedAt: s.StartedAt, EndedAt: endedAt,
	}
}

// Took returns how long the run was in progress. It is 0 if the run ended before a worker took it.
func (o Outcome) Took() time.Duration {
	if o.StartedAt.IsZero() {
		return 0
	}
	return o.EndedAt.Sub(o.StartedAt)
}

// Result returns the result for a task that waits for the run.
func (o Outcome) Result() (any, *errors.Error) {
	switch o.Status {
	case interpreter.StatusCompleted:
		return o.Output, nil
	case interpreter.StatusFaulted:
		return nil, o.Fault
	}
	if o.Reason != "" {
		return nil, errors.Runtimef("the workflow %s was cancelled: %s", o.ID, o.Reason)
	}
	return nil, errors.Runtimef("the workflow %s was cancelled", o.ID)
}
