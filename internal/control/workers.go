package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
)

// Workers returns the workers that are there, the longest there first.
func (c *Control) Workers(ctx context.Context) ([]api.Worker, error) {
	found, err := c.store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	all := []api.Worker{}
	for _, w := range found {
		all = append(all, api.NewWorker(w))
	}
	return all, nil
}
