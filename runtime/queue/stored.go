package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

// CheckEntry reports why an entry of the queues, rules or notes of polls, cannot be read, or contains rules that nobody can decide.
func CheckEntry(r store.Registered) error {
	if strings.HasPrefix(r.Key, rulesPrefix) {
		_, err := decode(r)
		return err
	}
	_, err := store.DecodeEntry[map[string]Polled](store.RegistryQueues, r)
	return err
}

// decode reads rules. Rules that no command can set are refused.
func decode(r store.Registered) (Rules, error) {
	rules, err := store.DecodeEntry[Rules](store.RegistryQueues, r)
	if err == nil {
		err = store.RefuseValue(store.RegistryQueues, r, rules.check())
	}
	return rules, err
}

// List returns the rules of all queues that have any, by their names. Rules that cannot be read are an error.
func List(ctx context.Context, r store.Registry) (map[string]Rules, error) {
	all, damaged, err := read(ctx, r)
	if len(damaged) > 0 {
		err = damaged[slices.Min(slices.Collect(maps.Keys(damaged)))]
	}
	return all, err
}

// Readable is List without unreadable rules, since lists of runs do not report them. The list of queues and doctor report damage.
func Readable(ctx context.Context, r store.Registry) (map[string]Rules, error) {
	all, _, err := read(ctx, r)
	if store.IsUnreadable(err) {
		err = nil
	}
	return all, err
}

// read returns the rules of all queues with rules, by their names, and the errors of unreadable rules.
func read(ctx context.Context, r store.Registry) (all map[string]Rules, damaged map[string]error, err error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryQueues, Prefix: rulesPrefix})
	if err != nil {
		return nil, nil, err
	}
	all, damaged = map[string]Rules{}, map[string]error{}
	for _, e := range entries {
		name := strings.TrimPrefix(e.Key, rulesPrefix)
		if rules, err := decode(e); err != nil {
			damaged[name] = err
		} else {
			all[name] = rules
		}
	}
	return all, damaged, nil
}

// Edit is a change of rules.
type Edit struct {
	// Apply changes the rules. If it returns an error, nothing is changed.
	Apply func(*Rules) error
	// Replaced gets the reason if Apply has got empty rules in the place of rules that cannot be read. A nil Replaced has such rules refused as a
	// *store.ReplaceableError.
	Replaced func(error)
}

// Change applies an edit to the rules of a queue, and returns the new rules, or the error of the edit.
func Change(ctx context.Context, r store.Registry, name string, d Decision, edit Edit) (rules Rules, err error) {
	if err := dsl.CheckQueue(name); err != nil {
		return rules, &Error{"queue", "is wrong: " + err.Error()}
	}
	if err := (limits.Set{}).CheckText(limits.Reason, d.Reason); err != nil {
		if limit := errors.AsError(err); limit != nil {
			return rules, &Error{"reason", limit.Detail}
		}
		return rules, &Error{"reason", err.Error()}
	}
	e := entry(name)
	e.Replaced = edit.Replaced
	rules, err = e.Change(ctx, r, func(rules *Rules) error {
		rules.Changed = d
		return edit.Apply(rules)
	}, (*Rules).isEmpty)
	return rules, store.Replaceable(err, "swrun queue limit "+name+" --concurrency N --replace", "sets the rules of the queue anew; its other limits and a pause are lost")
}

// check reports what is wrong with rules that are stored.
func (r *Rules) check() error {
	switch {
	case r.Concurrency < 0 || r.Concurrency > MaxConcurrency:
		return fmt.Errorf("its concurrency is %d", r.Concurrency)
	case r.Rate < 0 || r.Rate > MaxRate:
		return fmt.Errorf("its rate is %d", r.Rate)
	case r.Rate > 0 && (r.Per < time.Second || r.Per > store.MaxRateSpan):
		return fmt.Errorf("its rate is for %s", r.Per)
	case r.isEmpty():
		return errors.New("it contains no rule")
	}
	return nil
}

// isEmpty reports whether nothing is decided about a queue.
func (r *Rules) isEmpty() bool { return !r.Limited() && r.Paused == nil }
