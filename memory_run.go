package swrun

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/local"
)

// RunConfig configures Document.Run. The zero value runs on the real clock.
type RunConfig struct {
	Host Host
	// VirtualTime jumps over waits and retry delays: a run that sleeps for thirty days ends in milliseconds. Calls take their real time.
	VirtualTime bool
	// ID identifies the run; default a new id.
	ID string
	// ExecutionTimeout replaces the document's timeout, RunTimeout its metadata.swrun.runTimeout; client.NoTimeout removes them. Deadline replaces the
	// document's timeout by a point in time.
	ExecutionTimeout, RunTimeout time.Duration
	Deadline                     time.Time
	// Documents finds the workflows that run.workflow tasks name; default the workflows beside the document's own file.
	Documents *Documents
	// Observe is called with every event of the run's history, in order, never from two goroutines at the same time.
	Observe func(interpreter.HistoryEvent)
	// Outlasting is called when the run is ended and Run waits for the child runs that its tasks began with `await: false`. The argument is the places
	// of these tasks.
	Outlasting func([]interpreter.Path)
	Now        func() time.Time // default time.Now
	// Arrivals are the events that reach the run and the workflows that it starts. Live brings further events until it is closed; nil for no further
	// events. The events that the runs emit reach them as well.
	Arrivals []Arrival
	Live     <-chan Arrival
}

// Arrival is an event that reaches runs in memory.
type Arrival = local.Arrival

// ListeningError is the error of a run in memory that listens for events when none is left to come.
type ListeningError = local.ListeningError

// Unmatched is an event in a ListeningError that no run has consumed.
type Unmatched = local.Unmatched

// Result is the outcome of a run.
type Result struct {
	ID        string
	Status    interpreter.Status // completed, faulted or cancelled
	Output    any                // of a completed run: nil, bool, int, float64, json.Number, string, []any or map[string]any
	Fault     *errors.Error      // of a faulted run
	Reason    string             // of a cancellation, if it was given
	Actor     string             // of a cancellation, if it was given
	TimedOut  bool               // the run faulted because a deadline of its own passed
	StartedAt time.Time
	EndedAt   time.Time
}

// Decode converts the output into a Go value, as encoding/json does.
func (r Result) Decode(into any) error { return decode(r.Output, into) }

// ErrCancelled is the error of a run that was cancelled or terminated.
var ErrCancelled = errors.New("the run was cancelled")

// Err returns nil for a completed run, the *errors.Error of a faulted run, and ErrCancelled for a cancelled run.
func (r Result) Err() error {
	switch r.Status {
	case interpreter.StatusCompleted:
		return nil
	case interpreter.StatusFaulted:
		return r.Fault
	case interpreter.StatusCancelled:
		if r.Reason != "" {
			return fmt.Errorf("%w: %s", ErrCancelled, r.Reason)
		}
		return ErrCancelled
	}
	return fmt.Errorf("the run %s has not ended: it is %s", r.ID, r.Status)
}

// Run runs the workflow in memory to its end, with an input of any Go type that encoding/json can write; nil is an empty object. As in encoding/json,
// a []byte becomes text in base64, and a json.RawMessage stays unchanged. When ctx ends, the run is cancelled, and Run returns after everything that
// the run started is stopped. Run compiles the document each time, since the result depends on the Host; an Engine compiles a deployed document once.
//
// The error explains the missing output: a dsl.Diagnostics for a document that cannot run here, an *InputError, an *errors.Error for a faulted run,
// ErrCancelled, and any other error for a failure of this program. The result of an ended run is returned in any case.
func (d *Document) Run(ctx context.Context, input any, c RunConfig) (Result, error) {
	if err := (StartOptions{ExecutionTimeout: c.ExecutionTimeout, RunTimeout: c.RunTimeout}).Check(); err != nil {
		return Result{}, err
	}
	e, err := c.Host.environment(0, nil)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	e.publish = e.host.Publish
	program, err := d.program(e)
	if err != nil {
		return Result{}, err
	}
	data, err := inputOf(input)
	if err != nil {
		return Result{}, err
	}
	if c.Documents == nil {
		c.Documents = NewDocuments(d)
	}
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { e.watchUsedContainers(watched) })
	defer func() { stop(); watching.Wait() }()
	outcome, err := local.Run(ctx, program, data, local.Config{
		ID: c.ID, ExecutionTimeout: c.ExecutionTimeout, RunTimeout: c.RunTimeout,
		Deadline: c.Deadline, Now: c.Now, Virtual: c.VirtualTime, Observe: c.Observe,
		Outlasting: c.Outlasting, Workflows: c.Documents.program(e), Log: e.host.Log, Memory: e.host.Memory, Arrivals: c.Arrivals, Live: c.Live,
	})
	r := Result(outcome)
	if err != nil {
		return r, err
	}
	return r, r.Err()
}
