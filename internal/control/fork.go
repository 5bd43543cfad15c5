package control

import (
	"context"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Fork starts a run that goes on from a task of another one.
func (c *Control) Fork(ctx context.Context, i store.Instance, r api.ForkRequest) (api.Forked, error) {
	var timeout time.Duration
	if r.ExecutionTimeout != "" {
		var err error
		if timeout, err = duration.Parse(r.ExecutionTimeout); err != nil {
			return api.Forked{}, &client.OptionError{Field: "executionTimeout", Detail: err.Error()}
		}
	}
	o, err := r.Options(timeout)
	if err != nil {
		return api.Forked{}, err
	}
	forked, err := c.client.Fork(ctx, i, o)
	if err != nil {
		return api.Forked{}, err
	}
	return api.NewForked(i.String(), forked), nil
}
