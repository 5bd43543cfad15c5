package control

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/definition"
)

// healthWithin is how long the store may take to tell whether the deployment is well.
const healthWithin = 5 * time.Second

// Health returns whether the deployment is well: the checks of swrun doctor. Several that ask at once share one answer.
func (c *Control) Health(ctx context.Context) api.Health {
	shared, _, _ := c.health.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(forEveryone(ctx), healthWithin)
		defer cancel()
		found := doctor.Examine(ctx, c.store, c.now, "it is served")
		found = append(found, sinks.Examine(ctx, c.store)...)
		found = append(found, deadletter.Examine(ctx, c.store)...)
		if c.AlsoExamine != nil {
			found = append(found, c.AlsoExamine()...)
		}
		return found, nil
	})
	found := slices.Clone(shared.([]doctor.Finding))
	if c.Secrets != nil && !slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Level == doctor.Error && f.Code == "SD001" }) {
		found = append(found, c.lackedSecrets(ctx))
	}
	if definition.GrantedIn(ctx) != nil {
		hideSchedules(found)
	}
	return doctor.Report(found)
}

// hideSchedules leaves out which schedules are overdue: they are those of all namespaces.
func hideSchedules(found []doctor.Finding) {
	for n, f := range found {
		if f.Code == "SD017" && f.Level == doctor.Warning {
			found[n].What = "schedules are overdue"
		}
	}
}
