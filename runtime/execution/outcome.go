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
	TimedOut  bool               // faulted because a deadline of its own has passed
	StartedAt time.Time          // on the run's clock
	EndedAt   time.Time          // on the run's clock
}
