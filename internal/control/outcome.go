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

// Outcome returns how a run ends within a time, or that it has not; 0 does not wait. One that is quarantined is waited for only if a
// deadline ends it.
func (c *Control) Outcome(ctx context.Context, i store.Instance, within time.Duration) (api.RunOutcome, error) {
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

// await returns how a run ends within a time; done says whether it has.
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
	if err != nil && waiting.Err() != nil { // whatever it was doing when the time was over
		err = nil
	}
	return o, done, err
}

// unfinished is the outcome of a run that has not ended.
func (c *Control) unfinished(ctx context.Context, i store.Instance) (api.RunOutcome, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return api.RunOutcome{}, err
	}
	outcome := api.RunOutcome{Run: i.String(), Status: (&filter.Run{Lifecycle: l.Lifecycle}).Status()}
	if d, err := c.client.Describe(ctx, i); err == nil { // whether a worker is there may be unknown
		outcome.NoWorker = d.NoWorker
	}
	return outcome, nil
}

// tasksStarted reports whether a run has come as far as its tasks.
func (c *Control) tasksStarted(ctx context.Context, i store.Instance) (bool, error) {
	history := faultreport.NewHistory()
	err := c.records(ctx, i, func(r interpreter.HistoryEvent) error {
		if history.Observe(r); history.TasksStarted() {
			return errEnough // the rest of it need not be read
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return history.TasksStarted(), err
}
