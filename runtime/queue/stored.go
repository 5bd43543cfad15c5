package queue

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// rulesPrefix begins the keys of rules in the registry.
const rulesPrefix = "rules/"

// entry is where the registry keeps the rules of a queue.
func entry(name string) store.RegistryEntry[Rules] {
	return store.RegistryEntry[Rules]{Kind: store.RegistryQueues, Key: rulesPrefix + name}
}

// List returns the rules of all queues that have any, by their names.
func List(ctx context.Context, r store.Registry) (map[string]Rules, error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryQueues, Prefix: rulesPrefix})
	if err != nil {
		return nil, fmt.Errorf("list the rules of queues: %w", err)
	}
	all := map[string]Rules{}
	for _, e := range entries {
		rules, err := store.DecodeEntry[Rules](store.RegistryQueues, e)
		if err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(e.Key, rulesPrefix)] = rules
	}
	return all, nil
}

// Change changes the rules of a queue, and returns what they are then. What change refuses is returned; nothing is changed then.
func Change(ctx context.Context, r store.Registry, name string, d Decision, change func(*Rules) error) (rules Rules, err error) {
	if err := dsl.CheckQueue(name); err != nil {
		return rules, &Error{"queue", "is wrong: " + err.Error()}
	}
	if err := (limits.Set{}).CheckText(limits.Reason, d.Reason); err != nil {
		if limit := errors.AsError(err); limit != nil {
			return rules, &Error{"reason", limit.Detail}
		}
		return rules, &Error{"reason", err.Error()}
	}
	return entry(name).Change(ctx, r, func(rules *Rules) error {
		rules.Changed = d
		return change(rules)
	}, (*Rules).isEmpty)
}

// isEmpty reports whether nothing is decided about a queue.
func (r *Rules) isEmpty() bool { return !r.Limited() && r.Paused == nil }
