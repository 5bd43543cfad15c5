package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Migrate has several runs go on with another version of their workflows, and returns what becomes of them and the errors, both at the same
// positions.
func (c *Control) Migrate(ctx context.Context, all []store.Instance, r api.MigrationRequest) ([]api.Migrated, []error) {
	type one struct {
		run store.Instance
		to  *api.Migrated
	}
	migrated, asked := make([]api.Migrated, len(all)), make([]one, len(all))
	for n, i := range all {
		asked[n] = one{i, &migrated[n]}
	}
	failed := client.ForEach(asked, func(o one) error {
		m, err := c.client.Migrate(ctx, o.run, r.Migration())
		if err == nil {
			*o.to = api.NewMigrated(o.run, m, r.DryRun)
		}
		return err
	})
	return migrated, failed
}
