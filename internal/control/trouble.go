package control

import (
	"context"
	"slices"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
)

// Trouble returns the groups of the chosen runs that go wrong. Those that are acknowledged are left out, unless all are asked for.
func (c *Control) Trouble(ctx context.Context, chosen Choice, all bool) (api.Trouble, error) {
	where, err := filter.Parse(chosen.Where, c.now())
	if err != nil {
		return api.Trouble{}, err
	}
	found, unreadable, err := c.client.Trouble(ctx, where, chosen.Namespaces)
	if err != nil {
		return api.Trouble{}, err
	}
	t := api.Trouble{Unreadable: unreadable}
	if !all {
		known := len(found)
		found = slices.DeleteFunc(found, func(g client.TroubleGroup) bool { return g.Runs == 0 })
		t.Acknowledged = known - len(found)
	}
	t.Groups = api.NewTroubleGroups(found)
	return t, nil
}

// Acknowledge notes that the actor of ctx knows of groups of trouble, all of them or none. One that is not there in the namespaces, or anywhere if these
// are nil, is refused as store.NoSuch.
func (c *Control) Acknowledge(ctx context.Context, chosen api.TroubleChoice, namespaces []string) ([]api.TroubleGroup, error) {
	done, err := c.client.Acknowledge(ctx, chosen.Groups, namespaces, filter.Acknowledgement{At: c.now().UTC(), Actor: client.Actor(ctx), Reason: chosen.Reason})
	return api.NewTroubleGroups(done), err
}

// Unacknowledge takes back that groups of trouble are acknowledged, all of them or none. One that is not is refused as store.NoSuch.
func (c *Control) Unacknowledge(ctx context.Context, chosen api.TroubleChoice, namespaces []string) ([]api.TroubleGroup, error) {
	done, err := c.client.Unacknowledge(ctx, chosen.Groups, namespaces)
	return api.NewTroubleGroups(done), err
}
