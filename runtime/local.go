package runtime

import (
	"context"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// Local configures a run in memory. The zero value runs on the real clock and shows nothing.
type Local struct {
	ID  string           // of the instance; a new UUID if empty
	Now func() time.Time // default time.Now
	// Virtual runs on virtual time: whenever nothing is in flight, the clock jumps to the next wake-up.
	Virtual bool
	// Observe is called with every record in order, never from two goroutines at once, as soon as its step is done.
	Observe func(interpreter.Record)
	// Workflows resolves run.workflow tasks; nil knows no other workflow.
	Workflows Workflows
}

// Workflows finds a program by identity; version is a semantic version or "latest". An unknown one is an error of
// type configuration.
type Workflows func(namespace, name, version string) (*interpreter.Program, *errors.Error)

// Outcome is how a run ended.
type Outcome struct {
	ID        string
	Status    interpreter.Status // completed, faulted or cancelled
	Output    any                // if completed
	Fault     *errors.Error      // if faulted
	StartedAt time.Time          // on the run's clock
	EndedAt   time.Time          // on the run's clock
}

// Run runs one instance of p to its end. When ctx ends, the run is cancelled, and Run returns once every effect has
// stopped. The error is a failure of the host; what the workflow did wrong is in the outcome.
func Run(ctx context.Context, p *interpreter.Program, input any, c Local) (Outcome, error) {
	panic("runtime")
}
