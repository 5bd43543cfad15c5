package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// SetDeadline changes when a run, or a task of it that is in progress, ends at the latest.
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
