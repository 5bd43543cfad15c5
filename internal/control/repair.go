package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Repair compares runs with the indexes of the store, and repairs the differences.
func (c *Control) Repair(ctx context.Context, scope api.RepairScope) (api.Repair, error) {
	of := client.RepairScope{Namespace: scope.Namespace, Check: scope.DryRun}
	if scope.Run != "" {
		var err error
		if of.Run, err = store.ParseInstance(scope.Run); err != nil {
			return api.Repair{}, client.NewOptionError("run", err)
		}
		if scope.Namespace != "" && of.Run.Namespace != scope.Namespace {
			return api.Repair{}, &client.OptionError{Field: "run", Detail: scope.Run + " is not in the namespace " + scope.Namespace}
		}
	}
	r, err := c.client.Repair(ctx, of)
	return api.NewRepair(r, scope.DryRun), err
}

// Export returns a run with everything that is stored about it.
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
	archive, err := c.client.Archive(ctx, i)
	if err != nil {
		return api.Export{}, err
	}
	stored, err := archive.Encode()
	if err != nil {
		return api.Export{}, err
	}
	export, err := api.NewExport(run, d, records, described.State)
	export.Stored = api.NewStored(stored)
	return export, err
}

// Import stores a run that was exported from another store, and describes it in this store.
func (c *Control) Import(ctx context.Context, r api.ImportRequest) (api.Description, error) {
	if err := r.Check(); err != nil {
		return api.Description{}, err
	}
	archive, err := client.ParseArchive(r.Stored.Data)
	if err != nil {
		return api.Description{}, err
	}
	i, err := c.client.Import(ctx, archive)
	if err != nil {
		return api.Description{}, err
	}
	is, _ := store.ParseLifecycle(archive.Record)              // Import has read it
	info, err := execution.InvocationOf(i, archive.Invocation) // and this
	if err != nil {
		return api.Description{}, err
	}
	return c.DescribeStarted(ctx, accepted(i, is, info))
}
