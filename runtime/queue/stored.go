package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/store"
)

// rulesPrefix begins the keys of rules in the registry.
const rulesPrefix = "rules/"

// Load returns the rules of a queue, and their version; 0 if there are none.
func Load(ctx context.Context, r store.Registry, name string) (Rules, int64, error) {
	found, err := r.Registered(ctx, store.RegistryQueues, rulesPrefix+name)
	if store.RefusedAs(err) == store.NoSuch {
		return Rules{}, 0, nil
	}
	if err != nil {
		return Rules{}, 0, fmt.Errorf("read the rules of the queue %s: %w", name, err)
	}
	rules, err := decode(found)
	return rules, found.Version, err
}

func decode(r store.Registered) (rules Rules, err error) {
	if err := json.Unmarshal(r.Value, &rules); err != nil {
		return rules, store.Refuse(store.Corrupt, time.Time{}, "%s: %s", store.RegistryQueues.EntryName(r.Key), err)
	}
	return rules, nil
}

// List returns the rules of all queues that have any, by their names.
func List(ctx context.Context, r store.Registry) (map[string]Rules, error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryQueues, Prefix: rulesPrefix})
	if err != nil {
		return nil, fmt.Errorf("list the rules of queues: %w", err)
	}
	all := map[string]Rules{}
	for _, e := range entries {
		rules, err := decode(e)
		if err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(e.Key, rulesPrefix)] = rules
	}
	return all, nil
}

// maxAttempts is how often a change is tried while others change the same.
const maxAttempts = 10

// maxReason is how long a reason may be, in bytes.
const maxReason = 1000

// Change changes the rules of a queue, and returns what they are then. What change refuses is returned; nothing is changed then.
func Change(ctx context.Context, r store.Registry, name string, d Decision, change func(*Rules) error) (rules Rules, err error) {
	if err := dsl.CheckQueue(name); err != nil {
		return rules, &Error{"queue", "is wrong: " + err.Error()}
	}
	if len(d.Reason) > maxReason {
		return rules, &Error{"reason", fmt.Sprintf("must be at most %d bytes, got %d", maxReason, len(d.Reason))}
	}
	for range maxAttempts {
		var version int64
		if rules, version, err = Load(ctx, r, name); err != nil {
			return rules, err
		}
		if err := change(&rules); err != nil {
			return rules, err
		}
		rules.Changed = d
		if err = put(ctx, r, name, rules, version); store.RefusedAs(err) != store.Conflict {
			return rules, err
		}
	}
	return rules, err
}

// put stores rules; a queue without any has none.
func put(ctx context.Context, r store.Registry, name string, rules Rules, version int64) error {
	if !rules.Limited() && rules.Paused == nil {
		return r.Unregister(ctx, store.RegistryQueues, rulesPrefix+name, version)
	}
	data, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	_, err = r.Register(ctx, store.Registration{Kind: store.RegistryQueues, Key: rulesPrefix + name, Value: data, Version: version})
	return err
}
