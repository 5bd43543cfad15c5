package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/function"
)

// The operations on the deployed functions of the default catalog.

// DeployFunction deploys a function with the files that it refers to, which were read on this machine; again is true if the same function was
// deployed already.
func (d *Deployment) DeployFunction(ctx context.Context, f *swrun.Function) (deployed api.DeployedFunction, again bool, err error) {
	if err := f.Err(); err != nil {
		return deployed, false, err
	}
	text, err := json.Marshal(api.NewFunctionDefinition(f.Files))
	if err != nil {
		return deployed, false, err
	}
	got, err := d.send(ctx, request{method: http.MethodPut, path: functionPath(f.Name), text: text, mediaType: api.FunctionMediaType})
	var refused *api.Problem
	switch {
	case errors.As(err, &refused) && refused.Name() == "already-deployed":
		return deployed, false, &swrun.FunctionDeployedError{Function: f.Name}
	case err != nil:
		return deployed, false, asFound(err, f.File)
	}
	if err := read(got.Body(), &deployed); err != nil {
		return deployed, false, &AnswerError{d.called, err.Error()}
	}
	return deployed, got.StatusCode() == http.StatusOK, nil
}

// Functions returns the deployed functions.
func (d *Deployment) Functions(ctx context.Context) ([]api.Function, error) {
	return pages[api.Function](ctx, d, request{method: http.MethodGet, path: "/v1/functions"})
}

// Function returns a function, name:version.
func (d *Deployment) Function(ctx context.Context, named string) (api.DeployedFunction, error) {
	return ask[api.DeployedFunction](ctx, d, request{method: http.MethodGet, path: functionPath(named)})
}

// RemoveFunction deletes a function, name:version.
func (d *Deployment) RemoveFunction(ctx context.Context, named string) error {
	_, err := d.send(ctx, request{method: http.MethodDelete, path: functionPath(named)})
	return err
}

// functionFiles returns the files of a function of the server, for documents that are read on this machine.
func (d *Deployment) functionFiles(ctx context.Context, named string) (map[string][]byte, error) {
	f, err := d.Function(ctx, named)
	var refused *api.Problem
	switch {
	case errors.As(err, &refused) && refused.Name() == "not-found":
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	case errors.As(err, &refused) && refused.Name() == "damaged-function":
		return nil, err
	case err != nil:
		return nil, &function.UnavailableError{Function: named, Err: err}
	}
	return f.Files(), nil
}

func functionPath(named string) string {
	name, version, _ := strings.Cut(named, ":")
	return path("/v1/functions", name, version)
}
