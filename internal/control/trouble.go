package control

import (
	"context"
	"slices"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
)

// Trouble returns the groups of the selected runs in trouble. Acknowledged groups are left out, unless all are requested.
func (c *Control) Trouble(ctx context.Context, in *api.TroubleQuery) (api.Trouble, error) {
	namespaces, err := Audience(ctx, in.Namespace)
	if err != nil {
		return api.Trouble{}, err
	}
	where, err := filter.Parse(in.Where, c.now())
	if err != nil {
		return api.Trouble{}, err
	}
	found, unreadable, err := c.client.Trouble(ctx, where, namespaces)
	if err != nil {
		return api.Trouble{}, err
	}
	t := api.Trouble{Unreadable: unreadable}
	if !in.All {
		known := len(found)
		found = slices.DeleteFunc(found, func(g client.TroubleGroup) bool { return g.Runs == 0 })
		t.Acknowledged = known - len(found)
	}
	t.Groups = api.NewTroubleGroups(found)
	return t, nil
}

// Acknowledge acknowledges groups of trouble for the actor of ctx, all of them or none. A group that does not exist in the namespaces of the request
// is store.NoSuch.
func (c *Control) Acknowledge(ctx context.Context, in *api.TroubleCommand) ([]api.TroubleGroup, error) {
	namespaces, err := Audience(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	note := filter.Acknowledgement{At: c.now().UTC(), Actor: client.Actor(ctx), Reason: in.Body.Reason}
	done, err := c.client.Acknowledge(ctx, in.Body.Groups, namespaces, note)
	return api.NewTroubleGroups(done), err
}

// Unacknowledge removes acknowledgements of groups of trouble, all of them or none. A group without one is store.NoSuch.
func (c *Control) Unacknowledge(ctx context.Context, in *api.TroubleCommand) ([]api.TroubleGroup, error) {
	namespaces, err := Audience(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	done, err := c.client.Unacknowledge(ctx, in.Body.Groups, namespaces)
	return api.NewTroubleGroups(done), err
}
