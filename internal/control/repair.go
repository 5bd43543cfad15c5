package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Repair compares all runs with the indexes of the store and repairs what differs; a dry one only counts.
func (c *Control) Repair(ctx context.Context, dry bool) (api.Repair, error) {
	repair := c.client.Repair
	if dry {
		repair = c.client.CheckRepair
	}
	r, err := repair(ctx)
	return api.NewRepair(r, dry), err
}

// Export returns a run with all that is stored of it.
func (c *Control) Export(ctx context.Context, i store.Instance) (api.Export, error) {
	run, err := c.Describe(ctx, i)
	if err != nil {
		return api.Export{}, err
	}
	d, err := definition.Load(ctx, c.store, run.Definition)
	if err != nil {
		return api.Export{}, err
	}
	described, err := c.client.Describe(ctx, i)
	if err != nil {
		return api.Export{}, err
	}
	records := []api.HistoryEvent{}
	if _, err := c.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			records = append(records, api.NewHistoryEvent(r, e))
		}
		return nil
	}); err != nil {
		return api.Export{}, err
	}
	return api.NewExport(run, d, records, described.State)
}
