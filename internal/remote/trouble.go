package remote

import (
	"context"
	"net/http"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// Trouble returns the groups of the chosen runs that go wrong.
func (d *Deployment) Trouble(ctx context.Context, chosen control.Choice, all bool) (api.Trouble, error) {
	query := choiceQuery(chosen)
	if all {
		query.Set("all", "true")
	}
	return ask[api.Trouble](ctx, d, request{method: http.MethodGet, path: "/v1/trouble", query: query})
}

// Acknowledge notes that the caller knows of groups of trouble. The server knows which namespaces the caller sees.
func (d *Deployment) Acknowledge(ctx context.Context, chosen api.TroubleChoice, _ []string) ([]api.TroubleGroup, error) {
	return ask[[]api.TroubleGroup](ctx, d, request{method: http.MethodPost, path: "/v1/trouble/acknowledge", body: chosen})
}

// Unacknowledge takes back that groups of trouble are acknowledged.
func (d *Deployment) Unacknowledge(ctx context.Context, chosen api.TroubleChoice, _ []string) ([]api.TroubleGroup, error) {
	return ask[[]api.TroubleGroup](ctx, d, request{method: http.MethodPost, path: "/v1/trouble/unacknowledge", body: chosen})
}
