package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/definition"
)

// The operations on documents.

// DeployAll deploys documents, one after the other, with the external resources that they need. This machine reads the resources, and not the server.
func (d *Deployment) DeployAll(ctx context.Context, all ...*swrun.Document) error {
	if err := swrun.Distinct(all...); err != nil {
		return err
	}
	requests := make([]request, len(all))
	for n, document := range all {
		var err error
		if requests[n], err = d.defined(http.MethodPut, versionPath(document), document); err != nil {
			return err
		}
	}
	for n, document := range all {
		_, err := d.send(ctx, requests[n])
		var refused *api.Problem
		if errors.As(err, &refused) && refused.Name() == "already-deployed" {
			return &swrun.DeployedError{Workflow: document.String()}
		}
		if err != nil {
			return asFound(err, document.File)
		}
	}
	return nil
}

// asFound returns the findings of a server in a document or function that was read from a file, in the form of local findings; any other error
// unchanged.
func asFound(err error, file string) error {
	var refused *api.Problem
	if errors.As(err, &refused) && refused.Name() == "invalid-document" {
		if found := api.Found(refused.Diagnostics, file); found.Err() != nil {
			return found
		}
	}
	return err
}

// CheckRuns returns the effect of a document's deployment on the runs in progress, and changes nothing.
func (d *Deployment) CheckRuns(ctx context.Context, document *swrun.Document) (api.DeployResult, error) {
	r, err := d.defined(http.MethodPost, versionPath(document)+"/check-runs", document)
	if err != nil {
		return api.DeployResult{}, err
	}
	result, err := ask[api.DeployResult](ctx, d, r)
	return result, asFound(err, document.File)
}

// defined returns a request whose body is the definition of a document.
func (d *Deployment) defined(method, path string, document *swrun.Document) (request, error) {
	defined, err := d.Define(document)
	if err != nil {
		return request{}, err
	}
	text, err := json.Marshal(defined)
	return request{method: method, path: path, text: text, mediaType: api.DefinitionMediaType}, err
}

// Define returns a document with the external resources that it needs, in their current state on this machine.
func (d *Deployment) Define(document *swrun.Document) (*api.Definition, error) {
	whole, err := document.WithResources(d.host)
	if err != nil {
		return nil, err
	}
	defined := &api.Definition{Document: string(whole.Text), Resources: whole.Resources, Locations: whole.Locations}
	if whole.File != "" {
		defined.File = filepath.Base(whole.File)
	}
	return defined, nil
}

func versionPath(document *swrun.Document) string {
	w := document.Workflow.Document
	return path("/v1/workflows", w.Namespace, w.Name, w.Version)
}

// Deployed returns a deployed version of a workflow; definition.Latest means the latest.
func (d *Deployment) Deployed(ctx context.Context, r definition.Reference) (api.DeployedWorkflow, error) {
	return ask[api.DeployedWorkflow](ctx, d, request{method: http.MethodGet, path: referencePath(r)})
}

// WorkflowText returns the text of a deployed workflow, as it was sent.
func (d *Deployment) WorkflowText(ctx context.Context, r definition.Reference) (string, error) {
	got, err := d.send(ctx, request{method: http.MethodGet, path: referencePath(r), accept: "application/yaml"})
	if err != nil {
		return "", err
	}
	return string(got.Body()), nil
}

// Undeploy deletes a version of a workflow without runs in progress.
func (d *Deployment) Undeploy(ctx context.Context, r definition.Reference) error {
	_, err := d.send(ctx, request{method: http.MethodDelete, path: referencePath(r)})
	return err
}

func referencePath(r definition.Reference) string {
	return path("/v1/workflows", r.Namespace, r.Name, r.Version)
}
