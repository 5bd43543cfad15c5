package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// This file keeps the events that matched no run, for users who look for them. Nothing else depends on it.

// Unmatched is an event that matched no run: no run received it, and it neither started a run nor waits for others.
type Unmatched struct {
	At     time.Time `json:"at"` // by the store's clock
	Type   string    `json:"t"`
	Source string    `json:"s"`
	ID     string    `json:"i"`
	// Refused are the schedules that take it and started nothing.
	Refused []Refused `json:"r,omitempty"`
	// Namespace is the namespace that it was published for; empty for all. It is part of the key and not of the value.
	Namespace string `json:"-"`
}

// Refused is a schedule that takes an event and started nothing.
type Refused struct {
	Namespace string `json:"n"`
	Workflow  string `json:"w"` // namespace/name:version
	Reason    string `json:"r"`
}

// Taken reports whether a run has the event or should have it, or a schedule keeps it.
func (r *Report) Taken() bool {
	return len(r.Matched)+len(r.Full)+len(r.Started) > 0 || r.Waits || r.Repeated
}

// The limits of the kept unmatched events.
const (
	UnmatchedKept   = 200 // UnmatchedKept is how many are kept of one namespace, or of those for all.
	UnmatchedOfType = 20  // UnmatchedOfType is how many of these may have one type.
	unmatchedText   = 256 // bytes of an attribute
	refusedKept     = 3   // schedules of one event
	unmatchedRate   = 5   // events a second that one process keeps
	unmatchedBurst  = 50
	unmatchedPause  = time.Second // between two events of a type that one process keeps, after the first few
)

// unmatched are the last unmatched events of an audience, the oldest first.
type unmatched struct {
	Events []Unmatched `json:"e"`
}

const (
	unmatchedByAll       = "all"
	unmatchedByNamespace = "namespace/"
)

// unmatchedEntry is where the events are kept that were for a namespace, or for all if it is empty.
func unmatchedEntry(namespace string) store.RegistryEntry[unmatched] {
	key := unmatchedByAll
	if namespace != "" {
		key = unmatchedByNamespace + namespace
	}
	return store.RegistryEntry[unmatched]{Kind: store.RegistryUnmatched, Key: key, For: func(*unmatched) time.Duration { return store.Remembered }}
}

// unmatchedLimit limits the store's load for unmatched events: every emitted event may be one.
type unmatchedLimit struct {
	all *rate.Limiter

	mu  *sync.Mutex
	per map[string]*rate.Limiter // by type
}

func newUnmatchedLimit() unmatchedLimit {
	return unmatchedLimit{all: rate.NewLimiter(unmatchedRate, unmatchedBurst), mu: &sync.Mutex{}, per: map[string]*rate.Limiter{}}
}

// allow reports whether one more event of a type may be kept.
func (l *unmatchedLimit) allow(kind string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.per[kind]
	if of == nil {
		if len(l.per) >= UnmatchedKept {
			clear(l.per)
		}
		of = rate.NewLimiter(rate.Every(unmatchedPause), UnmatchedOfType)
		l.per[kind] = of
	}
	return of.AllowN(at, 1) && l.all.AllowN(at, 1)
}

// keepUnmatched keeps an unmatched event, for the namespaces that it was published for. Errors are ignored.
func (b *Bus) keepUnmatched(ctx context.Context, d delivery, r *Report, at time.Time) {
	if r.Taken() || d.to != nil && len(d.to) == 0 || !b.unmatched.allow(d.kind(), at) {
		return
	}
	one := newUnmatched(d, r.Refused, at)
	namespaces := []string{""}
	if d.to != nil {
		namespaces = d.to[:min(len(d.to), UnmatchedOfType)]
	}
	for _, namespace := range namespaces {
		_, _ = unmatchedEntry(namespace).Change(ctx, b.store, func(u *unmatched) error { u.add(one); return nil }, func(*unmatched) bool { return false })
	}
}

func newUnmatched(d delivery, refused []Refused, at time.Time) Unmatched {
	text := func(name string) string {
		text, _ := d.event[name].(string)
		return shorten.To(text, unmatchedText)
	}
	one := Unmatched{At: at, Type: text("type"), Source: text("source"), ID: text("id")}
	for _, r := range refused[:min(len(refused), refusedKept)] {
		r.Workflow, r.Reason = shorten.To(r.Workflow, unmatchedText), shorten.To(r.Reason, 2*unmatchedText)
		one.Refused = append(one.Refused, r)
	}
	return one
}

// add adds an event. Many events of one type leave room for other types.
func (u *unmatched) add(one Unmatched) {
	u.Events = append(u.Events, one)
	same := func(e Unmatched) bool { return e.Type == one.Type }
	count := 0
	for _, e := range u.Events {
		if same(e) {
			count++
		}
	}
	switch oldest := slices.IndexFunc(u.Events, same); {
	case count > UnmatchedOfType:
		u.Events = slices.Delete(u.Events, oldest, oldest+1)
	case len(u.Events) > UnmatchedKept:
		u.Events = slices.Delete(u.Events, 0, 1)
	}
}

// CheckUnmatched returns the error of an unreadable entry of the unmatched events.
func CheckUnmatched(r store.Registered) error {
	_, err := store.DecodeEntry[unmatched](store.RegistryUnmatched, r)
	return err
}

// UnmatchedIn returns the last unmatched events, the newest first: events for one of some namespaces, or for all namespaces. Without
// namespaces it returns all. They are of the last day. It is incomplete if there were many.
func UnmatchedIn(ctx context.Context, r store.Registry, namespaces []string) (all []Unmatched, err error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryUnmatched})
	if err != nil {
		return nil, fmt.Errorf("list the unmatched events: %w", err)
	}
	for _, e := range entries {
		namespace, limited := strings.CutPrefix(e.Key, unmatchedByNamespace)
		if limited && namespaces != nil && !slices.Contains(namespaces, namespace) {
			continue
		}
		known, err := store.DecodeEntry[unmatched](store.RegistryUnmatched, e)
		if err != nil {
			return nil, err
		}
		for _, one := range known.Events {
			if limited {
				one.Namespace = namespace
			}
			one.Refused = slices.DeleteFunc(one.Refused, func(r Refused) bool { return namespaces != nil && !slices.Contains(namespaces, r.Namespace) })
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Unmatched) int { return b.At.Compare(a.At) })
	return all, nil
}
