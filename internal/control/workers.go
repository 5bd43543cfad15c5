package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/presence"
)

// Workers returns the workers that are there, the longest there first. A caller of some namespaces is not told of workers for single runs of others, nor
// how much a worker holds and performs, which counts the runs of all namespaces.
func (c *Control) Workers(ctx context.Context, _ *api.None) ([]api.Worker, error) {
	found, err := c.store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	all := []api.Worker{}
	for _, w := range presence.Seen(ctx, found) {
		one := api.NewWorker(w)
		if definition.GrantedIn(ctx) != nil {
			one.Held, one.Performing = nil, nil
		}
		all = append(all, one)
	}
	return all, nil
}
