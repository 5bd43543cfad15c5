package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// Migrate migrates several runs to another version of their workflows, and returns the migrations and the errors, both at the same positions.
func (c *Control) Migrate(ctx context.Context, all []store.Instance, r api.MigrationRequest) ([]api.Migrated, []error) {
	return eachOf(all, func(i store.Instance) (api.Migrated, error) {
		m, err := c.client.Migrate(ctx, i, r.Migration())
		if err != nil {
			return api.Migrated{}, err
		}
		return api.NewMigrated(i, m, r.DryRun), nil
	})
}
