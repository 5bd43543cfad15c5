package swrun

import (
	"context"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Deploy stores documents, with the resources that they need, under their namespaces, names and versions, so that they can be
// started by name. If one of them is faulty (dsl.Diagnostics), none is stored. A *DeployedError says that another document is stored
// under the same three.
func (e *Engine) Deploy(ctx context.Context, all ...*Document) error {
	var made []definition.Definition
	for _, d := range all {
		one, err := d.definition(e.env)
		if err != nil {
			return err
		}
		made = append(made, one)
	}
	return e.deploy(ctx, made)
}

// CheckRuns says what becomes of the runs in progress if a document is deployed, and changes nothing: which there are of other versions,
// and which of them could migrate to it (Run.Migrate). A *DeployedError says that another document has its name and version.
func (e *Engine) CheckRuns(ctx context.Context, d *Document) (client.InFlight, error) {
	made, err := d.definition(e.env)
	if err != nil {
		return client.InFlight{}, err
	}
	found, err := e.client.CheckRuns(ctx, made, nil)
	if store.RefusedAs(err) == store.Conflict {
		err = &DeployedError{found.To.Workflow.String(), err}
	}
	return found, err
}

func (e *Engine) deploy(ctx context.Context, all []definition.Definition) error {
	for _, d := range all {
		reference, err := e.client.Deploy(ctx, d)
		if store.RefusedAs(err) == store.Conflict {
			return &DeployedError{reference.String(), err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DeployedError says that another document is deployed under a name and version.
type DeployedError struct {
	Workflow string // namespace/name:version
	err      error
}

func (e *DeployedError) Error() string {
	return "another document is deployed as " + e.Workflow + ": give the document a new version"
}

// Unwrap returns the store's refusal.
func (e *DeployedError) Unwrap() error { return e.err }
