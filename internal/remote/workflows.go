package remote

import (
	"context"
	"net/http"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
)

// What is done with documents.

// DeployAll deploys documents, one after the other. The server reads the external resources that they need.
func (d *Deployment) DeployAll(ctx context.Context, all ...*swrun.Document) error {
	if err := swrun.Distinct(all...); err != nil {
		return err
	}
	for _, document := range all {
		_, err := d.send(ctx, request{method: http.MethodPut, path: versionPath(document), text: document.Text, mediaType: "application/yaml"})
		var refused *api.Problem
		if errors.As(err, &refused) && refused.Name() == "already-deployed" {
			return &swrun.DeployedError{Workflow: document.String()}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckRuns says what becomes of the runs in progress if a document is deployed, and changes nothing.
func (d *Deployment) CheckRuns(ctx context.Context, document *swrun.Document) (api.DeployResult, error) {
	return ask[api.DeployResult](ctx, d, request{method: http.MethodPost, path: versionPath(document) + "/check-runs", text: document.Text, mediaType: "application/yaml"})
}

func versionPath(document *swrun.Document) string {
	w := document.Workflow.Document
	return path("/v1/workflows", w.Namespace, w.Name, w.Version)
}
