package control

import (
	"context"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/faultreport"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// RunOf is one run of an execution: the latest run if Number is 0.
type RunOf struct {
	Execution store.Instance
	Number    int
}

// OutcomeOf returns the outcome of a run that ends within a time, or that it is still in progress; 0 does not wait. It waits for a
// quarantined run only if a deadline ends the run.
func (c *Control) OutcomeOf(ctx context.Context, run RunOf, within time.Duration) (api.RunOutcome, error) {
	i := run.Execution
	numbers, within, err := c.awaitNext(ctx, run, within)
	if err != nil {
		return api.RunOutcome{}, err
	}
	if run.Number > 0 && run.Number < numbers.Latest {
		return api.NewContinuedOutcome(i, run.Number), nil
	}
	o, done, err := c.await(ctx, i, within)
	var stuck *client.QuarantinedError
	switch {
	case errors.As(err, &stuck):
		return api.RunOutcome{Run: i.String(), Status: store.Quarantined, EndsAt: api.Time(stuck.Ends)}, nil
	case err != nil:
		return api.RunOutcome{}, err
	case !done:
		return c.unfinished(ctx, i)
	}
	started := true
	if o.Fault != nil {
		if started, err = c.tasksStarted(ctx, i); err != nil {
			return api.RunOutcome{}, err
		}
	}
	return api.NewRunOutcome(i, o, started), nil
}

// awaitNext waits within a time for the run that follows a run of an execution, and returns the numbers of the runs. It returns immediately if the
// run has no number, with the whole time left, and if the execution is over or quarantined.
func (c *Control) awaitNext(ctx context.Context, run RunOf, within time.Duration) (numbers client.RunNumbers, left time.Duration, err error) {
	if run.Number == 0 {
		return numbers, within, nil
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for every := followAtOnce; ; every = min(2*every, followLater) {
		_, done, stuck := c.client.Outcome(ctx, run.Execution)
		if numbers, err = c.client.RunNumbers(ctx, run.Execution); err == nil {
			err = numbers.Refuse(run.Execution, run.Number)
		}
		if err != nil || done || run.Number < numbers.Latest {
			return numbers, 0, err
		}
		if stuck != nil || waiting.Err() != nil {
			end, _ := waiting.Deadline()
			return numbers, max(0, time.Until(end)), nil
		}
		if err := pause(waiting, nil, func() error { return errAgain }, every); !errors.Is(err, errAgain) {
			return numbers, 0, ctx.Err()
		}
	}
}

// await returns the outcome of a run that ends within a time; done reports whether it did.
func (c *Control) await(ctx context.Context, i store.Instance, within time.Duration) (o execution.Outcome, done bool, err error) {
	o, done, err = c.client.Outcome(ctx, i)
	var stuck *client.QuarantinedError
	if within <= 0 || done || err != nil && !(errors.As(err, &stuck) && !stuck.Ends.IsZero()) {
		return o, done, err
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	o, err = c.client.Wait(waiting, i)
	done = err == nil
	if err != nil && waiting.Err() != nil { // any error at the end of the time means that the run is still in progress
		err = nil
	}
	return o, done, err
}

// unfinished is the outcome of a run in progress.
func (c *Control) unfinished(ctx context.Context, i store.Instance) (api.RunOutcome, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return api.RunOutcome{}, err
	}
	outcome := api.RunOutcome{Run: i.String(), Status: (&filter.Run{Lifecycle: l.Lifecycle}).Status()}
	if d, err := c.client.Describe(ctx, i); err == nil { // it may be unknown whether a worker is available
		outcome.NoWorker = d.NoWorker
	}
	return outcome, nil
}

// tasksStarted reports whether a run has started any task.
func (c *Control) tasksStarted(ctx context.Context, i store.Instance) (bool, error) {
	history := faultreport.NewHistory()
	err := c.records(ctx, i, func(r interpreter.HistoryEvent) error {
		if history.Observe(r); history.TasksStarted() {
			return errEnough // the rest of the history is not needed
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return history.TasksStarted(), err
}
