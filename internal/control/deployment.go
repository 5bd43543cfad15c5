package control

import (
	"context"
	"fmt"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
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

// Workflows returns the deployed workflows of a namespace, or of all if it is empty.
func (c *Control) Workflows(ctx context.Context, namespace string) ([]api.Workflow, error) {
	found, err := definition.AllDeployed(ctx, c.store, namespace, "")
	if err != nil {
		return nil, err
	}
	all := []api.Workflow{}
	for _, d := range found {
		all = append(all, api.NewWorkflow(d))
	}
	return all, nil
}

// Workflow returns a deployed workflow; one that is not deployed is refused as store.NoSuch.
func (c *Control) Workflow(ctx context.Context, namespace, name string) (api.Workflow, error) {
	found, err := definition.AllDeployed(ctx, c.store, namespace, name)
	if err != nil {
		return api.Workflow{}, err
	}
	if len(found) == 0 || namespace == "" || name == "" {
		return api.Workflow{}, &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("workflow %s/%s", namespace, name)}
	}
	return api.NewWorkflow(found[0]), nil
}
