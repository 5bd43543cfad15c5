package swrun

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Deploy stores documents, with the resources that they need, under their namespaces, names and versions, so that they can be started by name. It
// stores no document if one of them is faulty (dsl.Diagnostics), if two have the same namespace, name and version (*DuplicateError), or if one uses a
// namespace that ctx does not grant (*definition.ForeignError, see definition.WithGranted). A *DeployedError means that another document is stored
// under the same namespace, name and version.
func (e *Engine) Deploy(ctx context.Context, all ...*Document) error {
	if err := Distinct(all...); err != nil {
		return err
	}
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

// CheckRuns returns the effect that deploying a document would have on the runs in progress, and changes nothing: the runs of other versions, and
// those that could migrate to the document (Run.Migrate). A *DeployedError means that another document is deployed under its name and version.
func (e *Engine) CheckRuns(ctx context.Context, d *Document) (client.RunsCheck, error) {
	made, err := d.definition(e.env)
	if err != nil {
		return client.RunsCheck{}, err
	}
	found, err := e.client.CheckRuns(ctx, made, nil)
	if store.RefusedAs(err) == store.Conflict {
		err = &DeployedError{found.To.Workflow.String(), err}
	}
	return found, err
}

func (e *Engine) deploy(ctx context.Context, all []definition.Definition) error {
	for _, d := range all {
		if err := e.client.CheckGranted(ctx, d); err != nil {
			return err
		}
	}
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

// Distinct returns a *DuplicateError if two different documents have the same namespace, name and version.
func Distinct(all ...*Document) error {
	known := map[string]*Document{}
	for _, d := range all {
		if !d.isRead() {
			continue
		}
		other := known[d.String()]
		if other != nil && !bytes.Equal(other.Text, d.Text) {
			return &DuplicateError{d.String(), [2]string{other.File, d.File}}
		}
		known[d.String()] = d
	}
	return nil
}

// DuplicateError is the error of two different documents that have the same namespace, name and version.
type DuplicateError struct {
	Workflow string    // namespace/name:version
	Files    [2]string // empty for a text that was not read from a file
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s and %s are different documents, and both are %s", cmp.Or(e.Files[0], "one"), cmp.Or(e.Files[1], "another"), e.Workflow)
}

// DeployedError is the error of a name and version under which another document is deployed.
type DeployedError struct {
	Workflow string // namespace/name:version
	err      error
}

func (e *DeployedError) Error() string {
	return "another document is deployed as " + e.Workflow + ": change document.version"
}

// Unwrap returns the store's refusal.
func (e *DeployedError) Unwrap() error { return e.err }
