package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// SetDeadline changes the deadline of a run, or of one of its tasks in progress.
func (c *Control) SetDeadline(ctx context.Context, i store.Instance, given api.DeadlineChange) (api.MovedDeadline, error) {
	change, err := given.Parse()
	if err != nil {
		return api.MovedDeadline{}, err
	}
	moved, err := c.client.SetDeadline(ctx, i, change)
	if err != nil {
		return api.MovedDeadline{}, err
	}
	return api.NewMovedDeadline(i, given.Task, moved), nil
}

// SetDeadlines changes the deadlines of several runs, and returns the deadlines and the errors, both at the same positions.
func (c *Control) SetDeadlines(ctx context.Context, all []store.Instance, given api.DeadlineChange) ([]api.MovedDeadline, []error) {
	return eachOf(all, func(i store.Instance) (api.MovedDeadline, error) { return c.SetDeadline(ctx, i, given) })
}
