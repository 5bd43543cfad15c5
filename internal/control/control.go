// Package control is everything that can be asked of a deployment, in the shapes of package api: the command prints what it returns, and
// the HTTP API answers with it. It has no rules of its own about runs: these are those of the library and of runtime/client. It knows
// neither flags nor requests.
package control

import (
	"context"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Control asks one deployment. Several goroutines may use it.
type Control struct {
	engine *swrun.Engine
	store  *swrun.Store
	client *client.Client
	tokens *access.Tokens
}

// New returns what asks the deployment of an engine and its store.
func New(e *swrun.Engine, s *swrun.Store) *Control {
	return &Control{engine: e, store: s, client: e.Client(), tokens: access.NewTokens(s, nil)}
}

// Describe returns a run with everything that is known of it.
func (c *Control) Describe(ctx context.Context, i store.Instance) (api.Description, error) {
	d, err := c.client.Describe(ctx, i)
	if err != nil {
		return api.Description{}, err
	}
	review, err := c.client.Review(ctx, d)
	if err != nil {
		return api.Description{}, err
	}
	return api.NewDescription(d, review), nil
}

// Ready returns an error if the store cannot be asked.
func (c *Control) Ready(ctx context.Context) error {
	_, err := c.store.Written(ctx)
	return err
}
