package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Fork starts a run that continues from a task of another one.
func (c *Control) Fork(ctx context.Context, i store.Instance, r api.ForkRequest) (api.Forked, error) {
	o, err := r.Options()
	if err != nil {
		return api.Forked{}, err
	}
	forked, err := c.client.Fork(ctx, i, o)
	if err != nil {
		return api.Forked{}, err
	}
	return api.NewForked(i.String(), forked, r.DryRun), nil
}

// ForkAll forks several runs, and returns the forks and the errors, both at the same positions.
func (c *Control) ForkAll(ctx context.Context, all []store.Instance, r api.ForkRequest) ([]api.Forked, []error) {
	return eachOf(all, func(i store.Instance) (api.Forked, error) { return c.Fork(ctx, i, r) })
}

// Retry continues several runs: quarantined ones, and faulted ones as other runs. It returns the outcomes and the errors, both at the same positions.
func (c *Control) Retry(ctx context.Context, all []store.Instance, r api.RetryRequest) ([]api.Outcome, []error) {
	v, _ := VerbNamed(string(store.VerbRetry))
	return eachOf(all, func(i store.Instance) (api.Outcome, error) {
		done := api.Outcome{Run: i.String(), Outcome: api.OutcomeAccepted}
		forked, err := c.client.Retry(ctx, i, r.Options())
		if err != nil {
			return done, c.refusal(ctx, v, i, err)
		}
		if forked != nil {
			shown := api.NewForked(i.String(), *forked, r.DryRun)
			done.Fork = &shown
		}
		return done, nil
	})
}

// eachOf calls f for several runs, and returns its results, at the same positions.
func eachOf[T any](all []store.Instance, f func(store.Instance) (T, error)) ([]T, []error) {
	type one struct {
		run store.Instance
		to  *T
	}
	results, asked := make([]T, len(all)), make([]one, len(all))
	for n, i := range all {
		asked[n] = one{i, &results[n]}
	}
	failed := client.ForEach(asked, func(o one) (err error) {
		*o.to, err = f(o.run)
		return err
	})
	return results, failed
}
