package client

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// CheckGranted returns a *definition.ForeignError if a definition belongs to a namespace that ctx does not grant, or if one of its tasks,
// also in a function, runs a workflow of such a namespace. Otherwise the caller would control the actions and see the output of that
// workflow.
func (c *Client) CheckGranted(ctx context.Context, d definition.Definition) error {
	return definition.GrantedIn(ctx).CheckDefinition(d, c.programs.Compile)
}

// grantedStore is a store in which the runs of namespaces that a context does not grant (definition.WithGranted) are not there: they are refused
// as NoSuch, and left out of lists. Every method of the client asks it, so that none of them has to ask for itself.
type grantedStore struct{ store.Store }

// check refuses a run that is not granted like a missing run.
func check(ctx context.Context, i store.Instance) error {
	if definition.GrantedIn(ctx).Has(i.Namespace) {
		return nil
	}
	return &store.Refusal{Code: store.NoSuch, Detail: "run " + i.String()}
}

// Start refuses a run in a namespace that is not granted with a *definition.ForeignError. The error names the namespace, since it reveals
// nothing that existed.
func (s grantedStore) Start(ctx context.Context, c store.Start) (store.Started, error) {
	if err := definition.GrantedIn(ctx).Check(definition.Reference{Namespace: c.Instance.Namespace}); err != nil {
		return store.Started{}, err
	}
	return s.Store.Start(ctx, c)
}

func (s grantedStore) Load(ctx context.Context, i store.Instance) (store.Loaded, error) {
	if err := check(ctx, i); err != nil {
		return store.Loaded{}, err
	}
	return s.Store.Load(ctx, i)
}

func (s grantedStore) Inbox(ctx context.Context, i store.Instance, n int) ([]store.Message, error) {
	if err := check(ctx, i); err != nil {
		return nil, err
	}
	return s.Store.Inbox(ctx, i, n)
}

func (s grantedStore) History(ctx context.Context, i store.Instance, from, n int) ([]store.StoredEntry, error) {
	if err := check(ctx, i); err != nil {
		return nil, err
	}
	return s.Store.History(ctx, i, from, n)
}

func (s grantedStore) Payload(ctx context.Context, i store.Instance, ref string) ([]byte, error) {
	if err := check(ctx, i); err != nil {
		return nil, err
	}
	return s.Store.Payload(ctx, i, ref)
}

func (s grantedStore) Command(ctx context.Context, c store.Command) error {
	if err := check(ctx, c.To); err != nil {
		return err
	}
	return s.Store.Command(ctx, c)
}

func (s grantedStore) Deliver(ctx context.Context, d store.Delivery) error {
	if err := check(ctx, d.To); err != nil {
		return err
	}
	return s.Store.Deliver(ctx, d)
}

func (s grantedStore) ChangeActivities(ctx context.Context, c store.ChangeActivities) ([]store.ActivityChanged, error) {
	for _, a := range c.Activities {
		if err := check(ctx, a.Run); err != nil {
			return nil, err
		}
	}
	return s.Store.ChangeActivities(ctx, c)
}

func (s grantedStore) Remove(ctx context.Context, c store.Remove) (int, error) {
	for _, i := range c.Instances {
		if err := check(ctx, i); err != nil {
			return 0, err
		}
	}
	return s.Store.Remove(ctx, c)
}

// Scrub compares the runs that are granted, and no others.
func (s grantedStore) Scrub(ctx context.Context, c store.Scrub) (store.Scrubbed, error) {
	if granted := definition.GrantedIn(ctx); granted != nil {
		chosen := c
		c.Only = func(i store.Instance) bool { return granted.Has(i.Namespace) && chosen.Chooses(i) }
	}
	return s.Store.Scrub(ctx, c)
}

func (s grantedStore) List(ctx context.Context, partition int, cursor string, n int) (store.Page, error) {
	page, err := s.Store.List(ctx, partition, cursor, n)
	if granted := definition.GrantedIn(ctx); granted != nil {
		page.Items = slices.DeleteFunc(page.Items, func(l store.Listed) bool { return !granted.Has(l.Instance.Namespace) })
		page.Unreadable = slices.DeleteFunc(page.Unreadable, func(u store.Unreadable) bool { return !granted.Has(u.Instance.Namespace) })
	}
	return page, err
}

func (s grantedStore) Upcoming(ctx context.Context, partition int, until time.Time) ([]store.Instance, error) {
	all, err := s.Store.Upcoming(ctx, partition, until)
	if granted := definition.GrantedIn(ctx); granted != nil {
		all = slices.DeleteFunc(all, func(i store.Instance) bool { return !granted.Has(i.Namespace) })
	}
	return all, err
}
