package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// Untaken returns the last events that were not taken, the newest first, at most MaxPage of them.
func (d *Deployment) Untaken(ctx context.Context, q control.EventQuery) ([]api.UntakenEvent, error) {
	return ask[[]api.UntakenEvent](ctx, d, request{method: http.MethodGet, path: "/v1/events/unmatched", query: eventQuery(q)})
}

// Listeners returns a page of the listeners for events.
func (d *Deployment) Listeners(ctx context.Context, q control.EventQuery) (page control.ListenersPage, err error) {
	query := eventQuery(q)
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	page.Listeners, page.Next, err = askPage[[]api.Listener](ctx, d, request{method: http.MethodGet, path: "/v1/events/listeners", query: query})
	return page, err
}

func eventQuery(q control.EventQuery) url.Values {
	query := choiceQuery(control.Choice{Namespaces: q.Namespaces})
	query.Set("limit", strconv.Itoa(min(q.Limit, MaxPage)))
	if q.Type != "" {
		query.Set("type", q.Type)
	}
	return query
}
