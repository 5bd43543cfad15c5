package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// Fork starts a run that goes on from a task of another one.
func (c *Control) Fork(ctx context.Context, i store.Instance, r api.ForkRequest) (api.Forked, error) {
	o, err := r.Options()
	if err != nil {
		return api.Forked{}, err
	}
	forked, err := c.client.Fork(ctx, i, o)
	if err != nil {
		return api.Forked{}, err
	}
	return api.NewForked(i.String(), forked), nil
}
