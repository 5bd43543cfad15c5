package remote

import (
	"context"
	"net/http"

	"github.com/swrun/swrun/internal/api"
)

// Sinks returns the sinks of events that the store knows, with what they have not taken.
func (d *Deployment) Sinks(ctx context.Context) ([]api.Sink, error) {
	return ask[[]api.Sink](ctx, d, request{method: http.MethodGet, path: "/v1/sinks"})
}

// RetryDeadLetters has what a sink has not taken sent again, those with the ids or all.
func (d *Deployment) RetryDeadLetters(ctx context.Context, sink string, chosen api.DeadLetterChoice) (api.Sink, error) {
	return ask[api.Sink](ctx, d, request{method: http.MethodPost, path: path("/v1/sinks", sink) + "/retry", body: chosen})
}

// DropDeadLetters forgets what a sink has not taken, those with the ids or all.
func (d *Deployment) DropDeadLetters(ctx context.Context, sink string, chosen api.DeadLetterChoice) (api.Sink, error) {
	return ask[api.Sink](ctx, d, request{method: http.MethodPost, path: path("/v1/sinks", sink) + "/drop", body: chosen})
}
