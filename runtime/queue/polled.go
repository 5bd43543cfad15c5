package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Polled contains the pollers of activities of a queue, by name, with the time of their last poll. An outside worker without a name has an
// empty one.
type Polled map[string]time.Time

// Last returns the time of the last poll; zero for never.
func (p Polled) Last() (at time.Time) {
	for _, t := range p {
		if t.After(at) {
			at = t
		}
	}
	return at
}

const (
	// polledKey is the key under which the registry keeps who has polled which queues.
	polledKey = "polled"
	// polledInKey is the key of the same by namespace and queue.
	polledInKey = "polled-in"
	// NoteEvery is how often a server records polls, if there were any, and UnpolledAfter how long after a poll a queue counts as polled.
	NoteEvery     = 10 * time.Second
	UnpolledAfter = 3 * NoteEvery
	// The limits of the kept records: the oldest are dropped.
	maxPolled, maxPollers, maxPollerName = 500, 10, 64
	// maxNotes is how often a note is tried while others note their polls.
	maxNotes = 10
	// keptFor is how long it is kept.
	keptFor = 30 * 24 * time.Hour
)

// anyNamespace stands for all namespaces in the key of polls.
const anyNamespace = "*"

// PollKey returns the key under which the polls of a queue for a namespace are recorded; an empty namespace means all namespaces.
func PollKey(namespace, name string) string { return cmp.Or(namespace, anyNamespace) + " " + name }

// NotePolls notes that outside workers have polled queues until now: their names, by PollKey.
func NotePolls(ctx context.Context, r store.Registry, by map[string][]string) error {
	whole := map[string][]string{}
	for key, workers := range by {
		_, name, _ := strings.Cut(key, " ")
		whole[name] = append(whole[name], workers...)
	}
	if err := notePolls(ctx, r, polledKey, whole); err != nil {
		return err
	}
	return notePolls(ctx, r, polledInKey, by)
}

func notePolls(ctx context.Context, r store.Registry, key string, by map[string][]string) error {
	for range maxNotes {
		all, found, err := polled(ctx, r, key)
		if err != nil && store.RefusedAs(err) != store.Corrupt {
			return err
		}
		if err != nil && found.Version == 0 { // a damaged note is replaced, even if not even its version can be read
			found.Version = store.AnyVersion
		}
		for name, workers := range by {
			if all[name] == nil {
				all[name] = Polled{}
			}
			for _, worker := range workers {
				all[name][shorten.To(worker, maxPollerName)] = found.At
			}
		}
		trim(all, found.At)
		data, err := store.EncodeEntry(store.RegistryQueues, all)
		if err != nil {
			return err
		}
		_, err = r.Register(ctx, store.Registration{Kind: store.RegistryQueues, Key: key, Value: data, Version: found.Version})
		if store.RefusedAs(err) != store.Conflict {
			return err
		}
	}
	return nil // others note theirs all the time; the next note has these too
}

// trim drops old records, and the oldest above the limit.
func trim(all map[string]Polled, now time.Time) {
	latest := func(times Polled, most int) {
		names := slices.SortedFunc(maps.Keys(times), func(a, b string) int { return times[b].Compare(times[a]) })
		for n, name := range names {
			if n >= most || now.Sub(times[name]) > keptFor {
				delete(times, name)
			}
		}
	}
	last := Polled{}
	for name, workers := range all {
		latest(workers, maxPollers)
		last[name] = workers.Last()
	}
	latest(last, maxPolled)
	maps.DeleteFunc(all, func(name string, _ Polled) bool { return last[name].IsZero() })
}

// AllPolled returns who has polled which queues, by queue, and the time of the store.
func AllPolled(ctx context.Context, r store.Registry) (map[string]Polled, time.Time, error) {
	all, found, err := readablePolls(ctx, r, polledKey)
	return all, found.At, err
}

// polledFor returns who has polled which queues for the namespaces that are granted, and the time of the store.
func polledFor(ctx context.Context, r store.Registry, granted definition.Granted) (map[string]Polled, time.Time, error) {
	all, now, err := AllPolled(ctx, r)
	if err == nil && granted != nil {
		all, err = PolledIn(ctx, r, granted...)
	}
	return all, now, err
}

// PolledIn returns who has polled which queues for some namespaces, or for all, by queue.
func PolledIn(ctx context.Context, r store.Registry, namespaces ...string) (map[string]Polled, error) {
	all, _, err := readablePolls(ctx, r, polledKey)
	if err != nil {
		return nil, err
	}
	in, _, err := readablePolls(ctx, r, polledInKey)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{} // an earlier version notes no namespaces
	for key := range in {
		_, name, _ := strings.Cut(key, " ")
		known[name] = true
	}
	for name := range all {
		if known[name] {
			all[name] = Polled{}
			for _, namespace := range append(slices.Clone(namespaces), "") {
				for worker, at := range in[PollKey(namespace, name)] {
					if at.After(all[name][worker]) {
						all[name][worker] = at
					}
				}
			}
		}
	}
	return all, nil
}

// readablePolls is polled for callers that only read. An unreadable record does not hide others: it counts as without polls. The next
// record replaces damaged contents; doctor names an entry that is damaged as a whole.
func readablePolls(ctx context.Context, r store.Registry, key string) (map[string]Polled, store.Registered, error) {
	all, found, err := polled(ctx, r, key)
	if store.IsUnreadable(err) {
		err = nil
	}
	return all, found, err
}

// polled returns a note, which is empty if it cannot be read, and the time of the store.
func polled(ctx context.Context, r store.Registry, key string) (all map[string]Polled, found store.Registered, err error) {
	all = map[string]Polled{}
	found, err = r.Registered(ctx, store.RegistryQueues, key)
	var refusal *store.Refusal
	if errors.As(err, &refusal) && refusal.Code == store.NoSuch {
		return all, store.Registered{At: refusal.At}, nil
	}
	if err != nil {
		if refusal != nil && !refusal.At.IsZero() {
			found.At = refusal.At
		}
		return all, found, fmt.Errorf("read who has polled which queues: %w", err)
	}
	kept, err := store.DecodeEntry[map[string]Polled](store.RegistryQueues, found)
	if err == nil && kept != nil {
		all = kept
	}
	return all, found, err
}
