package control

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/definition"
)

// healthWithin is the time limit of the store for an examination of the deployment's health.
const healthWithin = 5 * time.Second

// Health returns the health of the deployment: the checks of `swrun doctor`. Concurrent requests for the same namespaces share one answer.
func (c *Control) Health(ctx context.Context) api.Health {
	granted := definition.GrantedIn(ctx)
	shared, _, _ := c.health.Do(lookFor(granted), func() (any, error) {
		ctx, cancel := context.WithTimeout(definition.WithGranted(forEveryone(ctx), granted), healthWithin)
		defer cancel()
		found := c.looksFor(granted).Examine(ctx, c.store, c.now, "it is served")
		found = append(found, sinks.Examine(ctx, c.store)...)
		found = append(found, deadletter.Examine(ctx, c.store)...)
		if c.AlsoExamine != nil && granted == nil { // documents of folders, sources and sinks concern all namespaces
			found = append(found, c.AlsoExamine()...)
		}
		return found, nil
	})
	found := slices.Clone(shared.([]doctor.Finding))
	if c.Secrets != nil && !slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Level == doctor.Error && f.Code == "SD001" }) {
		found = append(found, c.lackedSecrets(ctx))
	}
	return doctor.Report(found)
}

// maxLooks is the maximum number of sets of namespaces whose looks at the store are kept.
const maxLooks = 100

// looksFor returns the kept looks at the store for callers with these namespaces.
func (c *Control) looksFor(granted definition.Granted) *doctor.Looks {
	c.looking.Lock()
	defer c.looking.Unlock()
	kept := c.looks[lookFor(granted)]
	if kept == nil {
		if kept = new(doctor.Looks); len(c.looks) >= maxLooks {
			clear(c.looks)
		}
		c.looks[lookFor(granted)] = kept
	}
	return kept
}

// lookFor names a look for callers with the same namespaces.
func lookFor(granted definition.Granted) string {
	if granted == nil {
		return ""
	}
	return "for " + strings.Join(slices.Sorted(slices.Values(granted)), ",")
}
