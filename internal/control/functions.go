package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
)

// SentFunction returns the function, name:version, that a caller has sent: its text or, depending on the media type, the text with the files that it
// refers to. The mistakes are in its diagnostics.
func SentFunction(named, mediaType string, body []byte) (*swrun.Function, error) {
	d := api.FunctionDefinition{Function: string(body)}
	if t, _, err := mime.ParseMediaType(mediaType); err == nil && t == api.FunctionMediaType {
		d = api.FunctionDefinition{}
		if err := json.Unmarshal(body, &d); err != nil {
			return nil, &client.OptionError{Field: "function", Detail: "is no definition of a function: " + err.Error()}
		}
	}
	f, err := swrun.ParseFunction(named, []byte(d.Function), d.Resources)
	if found := (dsl.Diagnostics)(nil); errors.As(err, &found) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Resources)) {
		if _, used := f.Files[name]; !used {
			return nil, &client.OptionError{Field: "resources", Detail: fmt.Sprintf("has %q, and the function refers to no such file", name)}
		}
	}
	return f, nil
}

// DeployFunction deploys a function; again is true if the same function was deployed already. Another function of the name and version is a
// *swrun.FunctionDeployedError.
func (c *Control) DeployFunction(ctx context.Context, f *swrun.Function) (d api.DeployedFunction, again bool, err error) {
	deployed, again, err := c.engine.DeployFunction(ctx, f)
	if err != nil {
		return d, false, err
	}
	d = api.NewDeployedFunction(deployed, f.Files)
	d.Diagnostics = api.Diagnostics(f.Diagnostics)
	return d, again, nil
}

// Functions returns the deployed functions.
func (c *Control) Functions(ctx context.Context) ([]api.Function, error) {
	all, err := c.engine.Functions().All(ctx)
	if err != nil {
		return nil, err
	}
	return api.NewFunctions(all), nil
}

// Function returns a function, name:version; a function that is not deployed is refused as store.NoSuch.
func (c *Control) Function(ctx context.Context, named string) (api.DeployedFunction, error) {
	d, files, err := c.engine.Functions().Of(ctx, named)
	if err != nil {
		return api.DeployedFunction{}, err
	}
	return api.NewDeployedFunction(d, files), nil
}

// RemoveFunction deletes a function, name:version. New deployments can no longer use it. A function that is not deployed is refused as store.NoSuch.
func (c *Control) RemoveFunction(ctx context.Context, named string) error {
	return c.engine.Functions().Remove(ctx, named)
}
