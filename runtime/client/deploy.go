package client

import (
	"context"

	"github.com/swrun/swrun/runtime/definition"
)

// Deploy stores a definition permanently under its namespace, name and version. Another definition under the same three is refused as a
// Conflict. The actor of ctx is recorded as the deployer. A definition that uses a namespace which ctx does not grant is a
// *definition.ForeignError (CheckGranted).
func (c *Client) Deploy(ctx context.Context, d definition.Definition) (definition.Reference, error) {
	if err := c.CheckGranted(ctx, d); err != nil {
		return definition.Reference{}, err
	}
	if err := c.deploying(ctx, d); err != nil {
		return definition.Reference{}, err
	}
	r, err := definition.DeployBy(ctx, c.store, d, Actor(ctx))
	if err == nil {
		err = c.deployed(ctx, d)
	}
	return r, err
}
