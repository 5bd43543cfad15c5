package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/presence"
)

// Workers returns the workers, the longest present first. A caller of some namespaces does not see workers for single runs of other namespaces. It
// does not see hosts, processes and volumes, nor the numbers of held runs and performed tasks, which count the runs of all namespaces.
func (c *Control) Workers(ctx context.Context, _ *api.None) ([]api.Worker, error) {
	found, err := c.store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	all := []api.Worker{}
	for _, w := range presence.Seen(ctx, found) {
		one := api.NewWorker(w)
		if definition.GrantedIn(ctx) != nil {
			one.Held, one.Performing, one.Host, one.Process, one.Grants.Volumes = nil, nil, "", 0, nil
		}
		all = append(all, one)
	}
	return all, nil
}
