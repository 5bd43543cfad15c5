package settings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// This file determines which namespaces receive the events that runs emit.

const nameEvents = "events"

// The values of Settings.Events beside names of namespaces.
const (
	EventsAll = "all" // every namespace, as the language has it
	EventsOwn = "own" // the namespace of the run that emits
)

// maxHearers is how many namespaces a setting may name.
const maxHearers = 100

// setEvents sets the namespaces that receive events of runs.
func (s *Settings) setEvents(text string) error {
	if text == EventsAll || text == EventsOwn {
		s.Events = text
		return nil
	}
	names := strings.Split(text, ",")
	for n := range names {
		names[n] = strings.TrimSpace(names[n])
		if err := store.CheckNamespace(names[n]); err != nil {
			return &Error{nameEvents, fmt.Sprintf("%s must be %s, %s, or namespaces with commas between them, got %s: %s", nameEvents, EventsAll, EventsOwn, shorten.Quoted(text), err)}
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if slices.Contains(names, EventsAll) || slices.Contains(names, EventsOwn) {
		return &Error{nameEvents, fmt.Sprintf("%s is either %s or %s alone, or names of namespaces", nameEvents, EventsAll, EventsOwn)}
	}
	if len(names) > maxHearers {
		return &Error{nameEvents, fmt.Sprintf("%s names at most %d namespaces, got %d", nameEvents, maxHearers, len(names))}
	}
	s.Events = strings.Join(names, ",")
	return nil
}

// Hearers returns the namespaces that receive events emitted by runs of a namespace; nil means all namespaces. The setting of the namespace
// takes precedence over the deployment. Without a setting all namespaces receive them, unless a token is limited to some namespaces
// (TokensAreLimited): then only the namespace itself does. The namespace itself always receives them.
func (c *Cache) Hearers(ctx context.Context, namespace string) ([]string, error) {
	said, err := c.EventsIn(ctx, namespace)
	switch {
	case err != nil:
		return nil, err
	case said == EventsAll:
		return nil, nil
	case said == EventsOwn:
		return []string{namespace}, nil
	}
	return append([]string{namespace}, strings.Split(said, ",")...), nil
}

// EventsIn returns the setting for events emitted by runs of a namespace, or of the deployment if it is empty: EventsAll, EventsOwn, or
// names. It is at most MaxAge old.
func (c *Cache) EventsIn(ctx context.Context, namespace string) (string, error) {
	own, err := c.own(ctx, Scope(namespace))
	if err != nil {
		return "", err
	}
	deployment, err := c.own(ctx, "")
	if err != nil {
		return "", err
	}
	if said := cmp.Or(own.Events, deployment.Events); said != "" {
		return said, nil
	}
	limited, err := c.tokensAreLimited(ctx)
	if limited {
		return EventsOwn, err
	}
	return EventsAll, err
}

// keptTokens is a Cache's knowledge of the tokens.
type keptTokens struct {
	limited bool
	at      time.Time
}

func (c *Cache) tokensAreLimited(ctx context.Context) (bool, error) {
	now := c.now()
	c.mu.Lock()
	kept := c.tokens
	c.mu.Unlock()
	if age := now.Sub(kept.at); !kept.at.IsZero() && age >= 0 && age < MaxAge {
		return kept.limited, nil
	}
	limited, err := TokensAreLimited(ctx, c.registry)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = keptTokens{limited, now}
	return limited, nil
}

// TokensAreLimited reports whether a token of the deployment is for some namespaces, and not for all.
func TokensAreLimited(ctx context.Context, r store.Registry) (bool, error) {
	all, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryTokens})
	if err != nil {
		return false, fmt.Errorf("list the tokens: %w", err)
	}
	for _, one := range all {
		token, err := store.DecodeEntry[struct {
			Everywhere bool `json:"everywhere"`
		}](store.RegistryTokens, one)
		if err != nil || !token.Everywhere { // an unreadable token may be limited
			return true, nil
		}
	}
	return false, nil
}
