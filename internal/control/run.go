package control

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Describe returns a run with everything that is known about it.
func (c *Control) Describe(ctx context.Context, i store.Instance) (api.Description, error) {
	return c.DescribeRun(ctx, i, 0)
}

// DescribeRun describes one run of an execution; 0 means the latest.
func (c *Control) DescribeRun(ctx context.Context, i store.Instance, number int) (api.Description, error) {
	d, err := c.client.DescribeRun(ctx, i, number)
	if err != nil {
		return api.Description{}, err
	}
	review, err := c.client.Review(ctx, d)
	if err != nil {
		return api.Description{}, err
	}
	return api.NewDescription(d, review), nil
}

// Version returns a text that changes when the description of a run changes, except for its remaining times.
func (c *Control) Version(ctx context.Context, i store.Instance) (string, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return "", err
	}
	workers, err := c.store.Workers(ctx)
	unheard := errors.As(err, new(*store.UnheardError))
	if err != nil && !unheard {
		return "", err
	}
	r := &l.Lifecycle
	sum := fnv.New64a()
	fmt.Fprint(sum, r, r.Mail, r.Lease.IsZero(), len(workers) > 0, unheard)
	return fmt.Sprintf("%d-%x", r.Version, sum.Sum64()), nil
}

// NotEndedError reports that a run did not end within the given time.
type NotEndedError struct{ Run store.Instance }

func (e *NotEndedError) Error() string { return fmt.Sprintf("the run %s is still open", e.Run) }

// EndedError reports that a run ended without an output.
type EndedError struct {
	Run     store.Instance
	Outcome execution.Outcome
}

func (e *EndedError) Error() string {
	text := fmt.Sprintf("the run %s is %s", e.Run, e.Outcome.Status)
	switch {
	case e.Outcome.Fault != nil:
		text += ": " + e.Outcome.Fault.Error()
	case e.Outcome.Reason != "":
		text += ": " + e.Outcome.Reason
	}
	return text
}

// Output returns the output of a run that completes within a time; 0 does not wait. A *NotEndedError means that the run is in progress, an
// *EndedError that it ended without an output.
func (c *Control) Output(ctx context.Context, i store.Instance, within time.Duration) (any, error) {
	return c.OutputOf(ctx, RunOf{Execution: i}, within)
}

// OutputOf is Output for one run of an execution; a *client.EarlierRunError means that the next run has followed.
func (c *Control) OutputOf(ctx context.Context, run RunOf, within time.Duration) (any, error) {
	i := run.Execution
	numbers, within, err := c.awaitNext(ctx, run, within)
	if err != nil {
		return nil, err
	}
	if run.Number > 0 && run.Number < numbers.Latest {
		return nil, &client.EarlierRunError{Run: i, Number: run.Number, Runs: numbers}
	}
	o, done, err := c.await(ctx, i, within)
	switch {
	case err != nil:
		return nil, err
	case !done:
		return nil, &NotEndedError{i}
	case o.Status != interpreter.StatusCompleted:
		return nil, &EndedError{i, o}
	}
	return o.Output, nil
}
