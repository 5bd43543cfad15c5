package control

import (
	"context"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/settings"
)

// Settings returns the settings of the deployment, then of each namespace that is granted to the caller and has some.
func (c *Control) Settings(ctx context.Context, _ *api.None) ([]api.Settings, error) {
	found, err := settings.List(ctx, c.store)
	if err != nil {
		return nil, err
	}
	granted, all := definition.GrantedIn(ctx), []api.Settings{}
	for _, s := range found {
		if s.Scope != "" && !granted.Has(string(s.Scope)) {
			continue
		}
		all = append(all, api.NewSettings(s.Scope, s.Settings))
	}
	return all, nil
}

// NamespaceSettings returns the settings that apply in a namespace: its own, and the settings of the deployment.
func (c *Control) NamespaceSettings(ctx context.Context, in *api.NamespacePath) (api.Settings, error) {
	namespace := in.Namespace
	if err := checkNamespace(namespace); err != nil {
		return api.Settings{}, err
	}
	known := settings.NewCache(c.store, time.Now)
	s, err := known.Of(ctx, namespace)
	if err != nil {
		return api.Settings{}, err
	}
	s.Events, err = known.EventsIn(ctx, namespace)
	return api.NewSettings(settings.Scope(namespace), s), err
}

// EventsByDefault returns the namespaces that get the events of runs without a setting of their namespace: settings.EventsAll, settings.EventsOwn, or
// names.
func (c *Control) EventsByDefault(ctx context.Context) (string, error) {
	return settings.NewCache(c.store, time.Now).EventsIn(ctx, "")
}

// ChangeSettings changes the settings of the deployment. An invalid value is a *settings.Error, and nothing is changed.
func (c *Control) ChangeSettings(ctx context.Context, in *api.SettingsCommand) (api.Settings, error) {
	return c.changeSettings(ctx, "", in.Body)
}

// ChangeNamespaceSettings changes the settings of a namespace, in the manner of ChangeSettings.
func (c *Control) ChangeNamespaceSettings(ctx context.Context, in *api.NamespaceSettingsCommand) (api.Settings, error) {
	if err := checkNamespace(in.Namespace); err != nil {
		return api.Settings{}, err
	}
	return c.changeSettings(ctx, settings.Scope(in.Namespace), in.Body)
}

func (c *Control) changeSettings(ctx context.Context, scope settings.Scope, change api.SettingsChange) (api.Settings, error) {
	note, reason := replacing(change.Replace)
	s, err := settings.Change(ctx, c.store, scope, change.Apply, note)
	answer := api.NewSettings(scope, s)
	answer.Replaced = *reason
	return answer, err
}

// replacing returns the function that notes why a replaced entry cannot be read, and the noted reason. The function is nil if nothing is replaced.
func replacing(replace bool) (note func(error), reason *string) {
	reason = new(string)
	if replace {
		note = func(err error) { *reason = err.Error() }
	}
	return note, reason
}
