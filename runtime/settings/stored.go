package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Scope is what settings are for: a namespace, or the whole deployment if it is empty.
type Scope string

const (
	deploymentKey   = "deployment"
	namespacePrefix = "namespace/"
)

func (s Scope) key() string {
	if s == "" {
		return deploymentKey
	}
	return namespacePrefix + string(s)
}

// String names the scope: the deployment, or the namespace and its name.
func (s Scope) String() string {
	if s == "" {
		return "the deployment"
	}
	return "the namespace " + string(s)
}

// Load returns what is set for a scope itself, and the version of that; 0 if nothing is.
func Load(ctx context.Context, r store.Registry, scope Scope) (Settings, int64, error) {
	found, err := r.Registered(ctx, store.RegistrySettings, scope.key())
	if store.RefusedAs(err) == store.NoSuch {
		return Settings{}, 0, nil
	}
	if err != nil {
		return Settings{}, 0, fmt.Errorf("read the settings of %s: %w", scope, err)
	}
	s, err := decode(found)
	return s, found.Version, err
}

func decode(r store.Registered) (s Settings, err error) {
	if err := json.Unmarshal(r.Value, &s); err != nil {
		return s, store.Refuse(store.Corrupt, time.Time{}, "%s: %s", store.RegistrySettings.EntryName(r.Key), err)
	}
	return s, nil
}

// maxAttempts is how often a change is tried while others change the same.
const maxAttempts = 10

// Change changes what is set for a scope, and returns what is set then. What change refuses is returned; nothing is changed then.
func Change(ctx context.Context, r store.Registry, scope Scope, change func(*Settings) error) (s Settings, err error) {
	for range maxAttempts {
		var version int64
		if s, version, err = Load(ctx, r, scope); err != nil {
			return s, err
		}
		if err := change(&s); err != nil {
			return s, err
		}
		if err = put(ctx, r, scope, s, version); store.RefusedAs(err) != store.Conflict {
			return s, err
		}
	}
	return s, err
}

// put stores what is set; nothing is kept of a scope for which nothing is set.
func put(ctx context.Context, r store.Registry, scope Scope, s Settings, version int64) error {
	if s == (Settings{}) {
		return r.Unregister(ctx, store.RegistrySettings, scope.key(), version)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = r.Register(ctx, store.Registration{Kind: store.RegistrySettings, Key: scope.key(), Value: data, Version: version})
	return err
}

// Scoped is what is set for a scope itself.
type Scoped struct {
	Scope Scope
	Settings
}

// List returns every scope for which something is set: the deployment first, then the namespaces by their names.
func List(ctx context.Context, r store.Registry) (all []Scoped, err error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistrySettings})
	if err != nil {
		return nil, fmt.Errorf("list the settings: %w", err)
	}
	for _, e := range entries {
		s, err := decode(e)
		if err != nil {
			return nil, err
		}
		one := Scoped{Settings: s}
		if namespace, ok := strings.CutPrefix(e.Key, namespacePrefix); ok {
			one.Scope = Scope(namespace)
		}
		all = append(all, one)
	}
	return all, nil // "deployment" comes before "namespace/"
}

// MaxAge is how old settings may be that a start applies: so long it takes until a change holds everywhere.
const MaxAge = 10 * time.Second

// maxKept is how many scopes a Cache keeps.
const maxKept = 1000

// Cache keeps settings for a while. Several goroutines may use it.
type Cache struct {
	registry store.Registry
	now      func() time.Time

	mu   sync.Mutex
	kept map[Scope]keptSettings
}

type keptSettings struct {
	Settings
	at time.Time
}

// NewCache returns an empty cache. Only differences of the time count.
func NewCache(r store.Registry, now func() time.Time) *Cache {
	return &Cache{registry: r, now: now, kept: map[Scope]keptSettings{}}
}

// Of returns what holds in a namespace, as it was set at most MaxAge ago.
func (c *Cache) Of(ctx context.Context, namespace string) (Settings, error) {
	deployment, err := c.own(ctx, "")
	if err != nil {
		return Settings{}, err
	}
	own, err := c.own(ctx, Scope(namespace))
	return own.Within(deployment), err
}

// own returns what is set for a scope itself.
func (c *Cache) own(ctx context.Context, scope Scope) (Settings, error) {
	now := c.now()
	c.mu.Lock()
	kept, ok := c.kept[scope]
	c.mu.Unlock()
	if age := now.Sub(kept.at); ok && age >= 0 && age < MaxAge {
		return kept.Settings, nil
	}
	s, _, err := Load(ctx, c.registry, scope)
	if err != nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= maxKept {
		clear(c.kept)
	}
	c.kept[scope] = keptSettings{s, now}
	return s, nil
}
