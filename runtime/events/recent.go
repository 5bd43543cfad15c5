package events

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// This file keeps the last events of each type that runs listen for, to explain why they did not match. Only explanations depend on it: an
// event that is not kept is delivered to its listeners anyway.

// Recent is an event that was published while runs listened for events of its type.
type Recent struct {
	At    time.Time         `json:"at"` // by the store's clock
	Event interpreter.Value `json:"event"`
	// Large reports that the event is too large to be kept: Event contains only its identity.
	Large bool `json:"large,omitempty"`
}

// The limits of the kept events.
const (
	recentOfType = 10       // events
	recentSize   = 16 << 10 // bytes of one event
	recentRate   = 10       // events a second that one process keeps
	recentBurst  = 50
)

// recent are the last events of a type, the oldest first.
type recent struct {
	Events []Recent `json:"events"`
}

// listenedFor records for which types of filters there are listeners.
type listenedFor struct{ exact, any atomic.Bool }

func (l *listenedFor) note(all []interpreter.EventFilter) {
	for _, f := range all {
		if f.Type == "" {
			l.any.Store(true)
		} else {
			l.exact.Store(true)
		}
	}
}

// recentEntry is where the last events of a type are, for all namespaces or, if one is named, for that; of those for which filters without a type are
// asked, the type is empty.
func recentEntry(kind, namespace string) store.RegistryEntry[recent] {
	key := "recent/" + hash([]byte(kind))
	if namespace != "" {
		key += "/" + namespace
	}
	return store.RegistryEntry[recent]{Kind: store.RegistryEvents, Key: key, For: func(*recent) time.Duration { return store.Remembered }}
}

// newRecentLimit limits the store's load for mere explanations.
func newRecentLimit() *rate.Limiter { return rate.NewLimiter(recentRate, recentBurst) }

// keep keeps an event for the listeners of its type: for all namespaces, or for the only namespace that it was published for. Errors are
// ignored.
func (b *Bus) keep(ctx context.Context, d delivery, at time.Time) {
	event, kind, heard, namespace := d.event, d.kind(), d.heard, ""
	switch {
	case len(d.to) == 1:
		namespace = d.to[0]
	case d.to != nil:
		return
	}
	for _, of := range []struct {
		kind string
		is   bool
	}{{kind, heard.exact.Load()}, {"", heard.any.Load()}} {
		if of.is && b.recent.AllowN(at, 1) {
			_, _ = recentEntry(of.kind, namespace).Change(ctx, b.store, func(r *recent) error { r.add(newRecent(event, at)); return nil }, func(*recent) bool { return false })
		}
	}
}

func newRecent(event map[string]any, at time.Time) Recent {
	if text, err := expr.Encode(event); err == nil && len(text) <= recentSize {
		return Recent{At: at, Event: interpreter.Value{V: event}}
	}
	known := map[string]any{}
	for _, name := range []string{"type", "source", "id"} {
		if text, _ := event[name].(string); len(text) <= recentSize/8 {
			known[name] = text
		}
	}
	return Recent{At: at, Event: interpreter.Value{V: known}, Large: true}
}

// add adds an event, once also if it is published again after an interruption.
func (r *recent) add(one Recent) {
	r.Events = slices.DeleteFunc(r.Events, func(e Recent) bool { return e.ID() == one.ID() })
	r.Events = append(r.Events, one)
	if over := len(r.Events) - recentOfType; over > 0 {
		r.Events = slices.Delete(r.Events, 0, over)
	}
}

// EventID is the identity of an event.
type EventID struct{ Source, ID string }

// IDOf returns the identity of an event.
func IDOf(event any) (known EventID) {
	attributes, _ := event.(map[string]any)
	known.Source, _ = attributes["source"].(string)
	known.ID, _ = attributes["id"].(string)
	return known
}

// ID returns the identity of the event.
func (r *Recent) ID() EventID { return IDOf(r.Event.V) }

// RecentOf returns the last events of some types that runs of a namespace might receive, the oldest first. It is incomplete if there were
// many events at a time. The empty type stands for filters for events of any type.
func RecentOf(ctx context.Context, r store.Registry, namespace string, kinds []string) (all []Recent, err error) {
	for _, kind := range kinds {
		for _, of := range []string{"", namespace} {
			known, _, err := recentEntry(kind, of).Load(ctx, r)
			if err != nil {
				return nil, err
			}
			all = append(all, known.Events...)
		}
	}
	told := map[EventID]bool{}
	all = slices.DeleteFunc(all, func(one Recent) bool {
		again := told[one.ID()]
		told[one.ID()] = true
		return again
	})
	slices.SortStableFunc(all, func(a, b Recent) int { return a.At.Compare(b.At) })
	return all, nil
}
