package control

import (
	"context"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/settings"
)

// Settings returns every scope for which something is set: the deployment first, then the namespaces.
func (c *Control) Settings(ctx context.Context) ([]api.Settings, error) {
	found, err := settings.List(ctx, c.store)
	if err != nil {
		return nil, err
	}
	all := []api.Settings{}
	for _, s := range found {
		all = append(all, api.NewSettings(s.Scope, s.Settings))
	}
	return all, nil
}

// NamespaceSettings returns what holds in a namespace, of what is set for itself and for the deployment.
func (c *Control) NamespaceSettings(ctx context.Context, namespace string) (api.Settings, error) {
	known := settings.NewCache(c.store, time.Now)
	s, err := known.Of(ctx, namespace)
	if err != nil {
		return api.Settings{}, err
	}
	s.Events, err = known.EventsIn(ctx, namespace)
	return api.NewSettings(settings.Scope(namespace), s), err
}

// EventsByDefault returns which namespaces hear what runs emit, where nothing is set for a namespace itself: settings.EventsAll, settings.EventsOwn, or names.
func (c *Control) EventsByDefault(ctx context.Context) (string, error) {
	return settings.NewCache(c.store, time.Now).EventsIn(ctx, "")
}

// ChangeSettings changes what is set for a namespace, or for the deployment if it is empty. What cannot be set is a *settings.Error, and
// nothing is changed then.
func (c *Control) ChangeSettings(ctx context.Context, namespace string, change api.SettingsChange) (api.Settings, error) {
	s, err := settings.Change(ctx, c.store, settings.Scope(namespace), change.Apply)
	return api.NewSettings(settings.Scope(namespace), s), err
}
