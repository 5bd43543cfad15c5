// Package events brings CloudEvents to the runs of a deployment that listen for them.
//
// An event is found to be new by its source and id. It is then delivered to each run that listens for it, with an id of its own that the
// store remembers; and only when all have it, it counts as published. Whoever was interrupted publishes it again: nobody gets it twice.
package events

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// Bus publishes events. It is safe for use by several goroutines.
type Bus struct {
	store store.Store
	codes sync.Map // compiled expressions of correlations, by their text; nil for one that cannot be compiled
}

// NewBus returns the bus of a deployment.
func NewBus(s store.Store) *Bus { return &Bus{store: s} }

// Report says who listens for an event.
type Report struct {
	Matched  []store.Instance // runs that got it; whether their tasks consume it is for them to find out
	Repeated bool             // it had been published before; nobody has got it again
}

// OtherEventError says that another event was published under the same source and id.
type OtherEventError struct{ Source, ID string }

// Error says so.
func (e *OtherEventError) Error() string {
	return fmt.Sprintf("another event was published as %s of the source %s: give each event an id of its own", e.ID, e.Source)
}

// published is what is known of an event for a day.
type published struct {
	Digest string `json:"digest"`         // of the event
	Done   bool   `json:"done,omitempty"` // everybody has it
}

// Publish delivers a structured CloudEvent, which was checked, to the runs that listen for it. allowed says which namespaces it may reach;
// nil for all.
func (b *Bus) Publish(ctx context.Context, event map[string]any, allowed func(namespace string) bool) (Report, error) {
	key, digest, err := identify(event)
	if err != nil {
		return Report{}, err
	}
	entry := store.RegistryEntry[published]{Kind: store.RegistryEvents, Key: key}
	before, version, err := entry.Load(ctx, b.store)
	switch {
	case err != nil:
		return Report{}, err
	case before.Digest != "" && before.Digest != digest:
		source, _ := event["source"].(string)
		id, _ := event["id"].(string)
		return Report{}, &OtherEventError{source, id}
	case before.Done:
		return Report{Repeated: true}, nil
	case before.Digest == "":
		if version, err = b.note(ctx, entry, published{Digest: digest}, 0); store.RefusedAs(err) == store.Conflict {
			return b.Publish(ctx, event, allowed) // somebody else does at the same time
		}
		if err != nil {
			return Report{}, err
		}
	}
	report, err := b.deliver(ctx, key, event, allowed)
	if err != nil {
		return report, err
	}
	if _, err = b.note(ctx, entry, published{Digest: digest, Done: true}, version); store.RefusedAs(err) == store.Conflict {
		err = nil // the same, by somebody else
	}
	return report, err
}

// identify returns what the event is known by, and a digest of all of it.
func identify(event map[string]any) (key, digest string, err error) {
	text, err := expr.Encode(event)
	if err != nil {
		return "", "", fmt.Errorf("write the event: %w", err)
	}
	id, err := expr.Encode([]any{event["source"], event["id"]})
	if err != nil {
		return "", "", fmt.Errorf("write the id of the event: %w", err)
	}
	return hash(id), hash(text), nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

func (b *Bus) note(ctx context.Context, e store.RegistryEntry[published], p published, version int64) (int64, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return 0, fmt.Errorf("write what is known of the event: %w", err)
	}
	registered, err := b.store.Register(ctx, store.Registration{Kind: e.Kind, Key: e.Key, Value: data, Version: version, For: store.Remembered})
	return registered.Version, err
}

// deliver delivers an event to all who listen.
func (b *Bus) deliver(ctx context.Context, id string, event map[string]any, allowed func(string) bool) (report Report, err error) {
	message := func(at time.Time) store.Message {
		m, err := inbox.Message{Type: interpreter.EventArrived, CloudEvent: &interpreter.Value{V: event}, At: at}.Encode()
		if err != nil {
			panic(err) // it was encoded before
		}
		return m
	}
	matched := make([][]store.Instance, b.store.Layout().Partitions)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for partition := range matched {
		all.Go(func() error {
			return b.listeners(ctx, partition, event, func(i store.Instance) error {
				if allowed != nil && !allowed(i.Namespace) || slices.Contains(matched[partition], i) {
					return nil
				}
				reached, err := b.reach(ctx, store.Delivery{To: i, ID: "event " + id + " " + i.String(), MessageAt: message})
				if reached {
					matched[partition] = append(matched[partition], i)
				}
				return err
			})
		})
	}
	err = all.Wait()
	report.Matched = slices.Concat(matched...)
	return report, err
}

// reach delivers an event to a run. It reports false for one that has ended meanwhile.
func (b *Bus) reach(ctx context.Context, d store.Delivery) (bool, error) {
	err := b.store.Deliver(ctx, d)
	for store.RefusedAs(err) == store.TimedOut && ctx.Err() == nil { // it took too long to be stored with the time that it says
		err = b.store.Deliver(ctx, d)
	}
	switch store.RefusedAs(err) {
	case store.Closed, store.NoSuch:
		return false, nil
	}
	return err == nil, err
}

// pageOfListeners is how many runs are asked for at once.
const pageOfListeners = 500

// listeners calls found for each run of a partition that may consume an event.
func (b *Bus) listeners(ctx context.Context, partition int, event map[string]any, found func(store.Instance) error) error {
	kind, _ := event["type"].(string)
	ask := store.Listening{Partition: partition, Types: []string{kind, ""}, Filters: []interpreter.EventFilter{{Type: kind}, {}}, N: pageOfListeners}
	answer, err := b.store.Listeners(ctx, ask)
	if err != nil {
		return err
	}
	filters := ask.Filters
	var correlated []interpreter.EventFilter
	for _, f := range answer.From {
		if f.From == "" {
			continue
		}
		if f.Key = b.key(f.From, event); f.Key != "" {
			correlated = append(correlated, f)
		}
	}
	if len(correlated) > 0 {
		more, err := b.store.Listeners(ctx, store.Listening{Partition: partition, Filters: correlated, N: pageOfListeners})
		if err != nil {
			return err
		}
		filters, answer.Runs = append(filters, correlated...), append(answer.Runs, more.Runs...)
	}
	for n, f := range filters {
		if err := b.each(ctx, partition, f, answer.Runs[n], found); err != nil {
			return err
		}
	}
	return nil
}

// each calls found for each run with a filter; runs are the first page of them.
func (b *Bus) each(ctx context.Context, partition int, f interpreter.EventFilter, runs []store.Instance, found func(store.Instance) error) error {
	for {
		for _, i := range runs {
			if err := found(i); err != nil {
				return err
			}
		}
		if len(runs) < pageOfListeners {
			return nil
		}
		answer, err := b.store.Listeners(ctx, store.Listening{Partition: partition, Filters: []interpreter.EventFilter{f}, After: runs[len(runs)-1], N: pageOfListeners})
		if err != nil {
			return err
		}
		runs = answer.Runs[0]
	}
}

// key returns the key of the values that some expressions yield for an event; empty if one of them yields nothing.
func (b *Bus) key(from string, event map[string]any) string {
	var texts []string
	if json.Unmarshal([]byte(from), &texts) != nil {
		return ""
	}
	values := make([]any, len(texts))
	for n, text := range texts {
		code := b.code(text)
		if code == nil {
			return ""
		}
		v, err := code.Eval(noVariables{}, any(event))
		if err != nil || v == nil {
			return ""
		}
		values[n] = v
	}
	return interpreter.EventKey(values)
}

func (b *Bus) code(text string) *expr.Code {
	if known, ok := b.codes.Load(text); ok {
		return known.(*expr.Code)
	}
	code, err := expr.Compile("${" + text + "}")
	if err != nil {
		code = nil
	}
	b.codes.Store(text, code)
	return code
}

// noVariables is the environment of expressions that have no variables.
type noVariables struct{}

func (noVariables) Variable(string) any { return nil }

func (noVariables) Now() time.Time { return time.Time{} }

// atOnce is how many partitions are asked at the same time.
const atOnce = 16
