package settings

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Scope is the scope of settings: a namespace, or the whole deployment if it is empty.
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

// entry returns the registry entry with the settings of a scope.
func (s Scope) entry() store.RegistryEntry[Settings] {
	return store.RegistryEntry[Settings]{Kind: store.RegistrySettings, Key: s.key()}
}

// CheckEntry reports why an entry of the settings cannot be read, or contains settings that nobody can set.
func CheckEntry(r store.Registered) error {
	_, err := decode(r)
	return err
}

// decode reads settings. Settings that no command can set are refused.
func decode(r store.Registered) (Settings, error) {
	s, err := store.DecodeEntry[Settings](store.RegistrySettings, r)
	if err == nil {
		err = store.RefuseValue(store.RegistrySettings, r, s.checkStored())
	}
	return s, err
}

// checkStored reports what is wrong with settings that are stored.
func (s *Settings) checkStored() error {
	if *s == (Settings{}) {
		return fmt.Errorf("it contains no setting")
	}
	for _, one := range s.All() {
		if one.Value != 0 && one.Value < MinTimeout {
			return fmt.Errorf("%s is %s", one.Name, one.Value)
		}
	}
	if s.Events != "" {
		if err := (&Settings{}).setEvents(s.Events); err != nil {
			return err
		}
	}
	return s.check()
}

// Change applies change to the settings of a scope, and returns the new settings. If change returns an error, nothing is changed and the
// error is returned. Settings that cannot be read are refused as a *store.ReplaceableError if replaced is nil. Otherwise change gets empty settings
// in their place, and replaced gets the reason.
func Change(ctx context.Context, r store.Registry, scope Scope, change func(*Settings) error, replaced func(error)) (Settings, error) {
	e := scope.entry()
	e.Replaced = replaced
	s, err := e.Change(ctx, r, change, func(s *Settings) bool { return *s == Settings{} })
	command := "swrun config set"
	if scope != "" {
		command += " -n " + string(scope)
	}
	return s, store.Replaceable(err, command+" NAME=VALUE --replace", "sets the settings of "+scope.String()+" anew; the others are lost")
}

// Scoped are the settings of a scope itself.
type Scoped struct {
	Scope Scope
	Settings
}

// List returns every scope for which something is set: the deployment first, then the namespaces by their names.
func List(ctx context.Context, r store.Registry) (all []Scoped, err error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistrySettings})
	if err != nil {
		return nil, err
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

	mu     sync.Mutex
	kept   map[Scope]keptSettings
	tokens keptTokens
}

type keptSettings struct {
	Settings
	at time.Time
}

// NewCache returns an empty cache. Only differences of the time count.
func NewCache(r store.Registry, now func() time.Time) *Cache {
	return &Cache{registry: r, now: now, kept: map[Scope]keptSettings{}}
}

// Of returns the effective timeouts in a namespace, at most MaxAge old. Runs are started with them.
func (c *Cache) Of(ctx context.Context, namespace string) (Settings, error) {
	deployment, err := c.own(ctx, "")
	if err != nil {
		return Settings{}, err
	}
	own, err := c.own(ctx, Scope(namespace))
	within := own.Within(deployment)
	within.Events = "" // asked when something is emitted, and not fixed at the start
	return within, err
}

// own returns the settings of a scope itself.
func (c *Cache) own(ctx context.Context, scope Scope) (Settings, error) {
	now := c.now()
	c.mu.Lock()
	kept, ok := c.kept[scope]
	c.mu.Unlock()
	if age := now.Sub(kept.at); ok && age >= 0 && age < MaxAge {
		return kept.Settings, nil
	}
	var s Settings
	found, err := c.registry.Registered(ctx, store.RegistrySettings, scope.key())
	if err == nil {
		s, err = decode(found)
	}
	if err != nil && store.RefusedAs(err) != store.NoSuch {
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
