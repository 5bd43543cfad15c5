package remote

import (
	"context"
	"net/http"
	"net/url"

	"github.com/swrun/swrun/internal/api"
)

const deadPath = "/v1/events/dead"

// deadQuery is what limits the messages to a source and a namespace.
func deadQuery(source string, namespaces []string) url.Values {
	query := url.Values{}
	if source != "" {
		query.Set("source", source)
	}
	if len(namespaces) > 0 {
		query.Set("namespace", namespaces[0])
	}
	return query
}

// DeadMessages returns the messages that sources could not publish.
func (d *Deployment) DeadMessages(ctx context.Context, source string, namespaces []string) ([]api.DeadMessage, error) {
	return ask[[]api.DeadMessage](ctx, d, request{method: http.MethodGet, path: deadPath, query: deadQuery(source, namespaces)})
}

// DeadMessage returns such a message with what it holds.
func (d *Deployment) DeadMessage(ctx context.Context, id string, namespaces []string) (api.DeadMessageContent, error) {
	return ask[api.DeadMessageContent](ctx, d, request{method: http.MethodGet, path: deadPath + "/one", query: withID(deadQuery("", namespaces), id)})
}

func withID(query url.Values, id string) url.Values {
	query.Set("id", id)
	return query
}

// RetryDeadMessages publishes messages that could not be published, and says what has become of each.
func (d *Deployment) RetryDeadMessages(ctx context.Context, chosen api.DeadMessageChoice, namespaces []string) ([]api.DeadMessageResult, error) {
	return ask[[]api.DeadMessageResult](ctx, d, request{method: http.MethodPost, path: deadPath + "/retry", query: deadQuery("", namespaces), body: chosen})
}

// DropDeadMessages forgets messages that could not be published.
func (d *Deployment) DropDeadMessages(ctx context.Context, chosen api.DeadMessageChoice, namespaces []string) ([]api.DeadMessageResult, error) {
	return ask[[]api.DeadMessageResult](ctx, d, request{method: http.MethodPost, path: deadPath + "/drop", query: deadQuery("", namespaces), body: chosen})
}
