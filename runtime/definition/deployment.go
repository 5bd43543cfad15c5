package definition

import (
	"context"
	"errors"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Deployment records the deployer of a version of a workflow, and the time. It is zero if unknown: older builds did not record it.
type Deployment struct {
	At   time.Time `json:"at"` // by the store's clock
	By   string    `json:"by,omitempty"`
	File string    `json:"file,omitempty"` // name of the document's file
}

// deploymentOf is the entry of the registry that notes who has deployed a definition. The definition holds the name and version of the
// workflow, so that its digest identifies them too.
func deploymentOf(digest string) store.RegistryEntry[Deployment] {
	return store.RegistryEntry[Deployment]{Kind: store.RegistryDeployments, Key: digest}
}

// Deployments is where definitions are deployed, and where it is noted who has done so.
type Deployments interface {
	store.Catalog
	store.Registry
}

// DeployBy is Deploy that notes who deploys the definition, unless it is deployed already.
func DeployBy(ctx context.Context, c Deployments, d Definition, by string) (Reference, error) {
	reference, err := d.Reference()
	if err != nil {
		return reference, err
	}
	digest := d.Digest()
	there, err := digestOf(ctx, c, reference)
	if store.RefusedAs(err) == store.NoSuch { // first, so that nothing is deployed without a note
		err = note(ctx, c, digest, Deployment{By: by, File: d.File})
	}
	if err != nil {
		return reference, err
	}
	if there == digest {
		if _, err := Load(ctx, c, digest); !store.IsUnreadable(err) {
			return reference, err
		} // otherwise it is stored again
	}
	return Deploy(ctx, c, d)
}

// note notes who deploys a definition. The entry of an earlier deployment, which was deleted since, is replaced.
func note(ctx context.Context, r store.Registry, digest string, d Deployment) error {
	e := deploymentOf(digest)
	found, err := r.Registered(ctx, e.Kind, e.Key)
	var refused *store.Refusal
	switch {
	case errors.As(err, &refused):
		d.At = refused.At.UTC()
	case err != nil:
		return err
	default:
		d.At = found.At.UTC()
	}
	value, err := store.EncodeEntry(e.Kind, d)
	if err != nil {
		return err
	}
	_, err = store.Overwrite(ctx, r, store.Registration{Kind: e.Kind, Key: e.Key, Value: value})
	return err
}

// DeploymentOf returns who has deployed the definition of a digest, and when.
func DeploymentOf(ctx context.Context, r store.Registry, digest string) (Deployment, error) {
	d, _, err := deploymentOf(digest).Load(ctx, r)
	if store.RefusedAs(err) != "" { // it cannot be read, and nothing but the list needs it
		return Deployment{}, nil
	}
	return d, err
}
