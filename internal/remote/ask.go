package remote

import (
	"context"

	"github.com/swrun/swrun/internal/api"
)

// Ask calls an operation of a deployment. A refusal is an *api.Problem.
func Ask[In, Out any](ctx context.Context, d *Deployment, row api.Operation[In, Out], in *In) (Out, error) {
	return ask[Out](withOperation(ctx, row.ID), d, requestOf(row.Request(in)))
}

// AskAll requests all pages of a list of a deployment.
func AskAll[In, Element any](ctx context.Context, d *Deployment, row api.Operation[In, []Element], in *In) ([]Element, error) {
	return pages[Element](withOperation(ctx, row.ID), d, requestOf(row.Request(in)))
}

func requestOf(r api.Request) request {
	return request{method: r.Method, path: r.Path, query: r.Query, header: r.Header, body: r.Body}
}
