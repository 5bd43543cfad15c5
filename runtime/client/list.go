package client

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Filter chooses runs. Empty members choose all.
type Filter struct {
	Namespace   string
	Workflow    string // namespace/name or namespace/name:version
	Status      string // a status phase, or quarantined
	BusinessKey string
	Labels      map[string]string
	Prefix      string // of the id
}

// Found is a run that a filter chooses.
type Found struct {
	Instance   store.Instance
	Lifecycle  store.Lifecycle
	Invocation *execution.Invocation
}

// Status returns the phase of the run, or quarantined.
func (f Found) Status() string {
	if f.Lifecycle.Reason == store.Quarantined {
		return store.Quarantined
	}
	return string(f.Lifecycle.Status)
}

func (f Filter) matches(i Found) bool {
	equal := func(want, got string) bool { return want == "" || want == got }
	for name, value := range f.Labels {
		if i.Invocation.Labels[name] != value {
			return false
		}
	}
	reference := i.Invocation.Workflow.String()
	return equal(f.Namespace, i.Instance.Namespace) && equal(f.Status, i.Status()) && equal(f.BusinessKey, i.Invocation.BusinessKey) &&
		strings.HasPrefix(i.Instance.ID, f.Prefix) &&
		(f.Workflow == "" || f.Workflow == reference || strings.HasPrefix(reference, f.Workflow+":"))
}

// List calls yield with the runs that a filter chooses, the newest first, until it returns false.
func (c *Client) List(ctx context.Context, f Filter, yield func(Found) bool) error {
	feeds := make([]*feed, c.store.Layout().Partitions)
	for p := range feeds {
		feeds[p] = &feed{store: c.store, partition: p, page: firstPage}
		if err := feeds[p].fill(ctx); err != nil {
			return err
		}
	}
	for {
		feeds = slices.DeleteFunc(feeds, func(f *feed) bool { return len(f.items) == 0 })
		if len(feeds) == 0 {
			return nil
		}
		newest := slices.MaxFunc(feeds, func(a, b *feed) int { return cmp.Or(a.head().Compare(b.head()), b.partition-a.partition) })
		item := newest.items[0]
		newest.items = newest.items[1:]
		if len(newest.items) == 0 {
			if err := newest.fill(ctx); err != nil {
				return err
			}
		}
		info, err := execution.ParseInvocation(item.Invocation)
		if err != nil {
			continue // scrub reports what cannot be read
		}
		if found := (Found{item.Instance, item.Lifecycle, info}); f.matches(found) && !yield(found) {
			return nil
		}
	}
}

// feed reads one partition page by page.
type feed struct {
	store     store.Store
	partition int
	cursor    string
	items     []store.Listed
	ended     bool
	page      int // how many runs are asked for next
}

// The pages of a feed grow: most who ask want the newest runs only, and who goes on wants all.
const firstPage, maxPage = 50, 1000

func (f *feed) fill(ctx context.Context) error {
	for len(f.items) == 0 && !f.ended {
		page, err := f.store.List(ctx, f.partition, f.cursor, f.page)
		if err != nil {
			return err
		}
		f.page = min(2*f.page, maxPage)
		f.items, f.cursor, f.ended = page.Items, page.Cursor, page.Cursor == ""
	}
	return nil
}

func (f *feed) head() time.Time { return f.items[0].Lifecycle.Created }

// Upcoming calls yield with each run that has a deadline before a time, in no order.
func (c *Client) Upcoming(ctx context.Context, until time.Time, yield func(store.Instance) error) error {
	for p := range c.store.Layout().Partitions {
		instances, err := c.store.Upcoming(ctx, p, until)
		if err != nil {
			return err
		}
		for _, i := range instances {
			l, err := c.store.Load(ctx, i)
			if store.RefusedAs(err) == store.NoSuch || err == nil && (l.Lifecycle.Deadline.IsZero() || l.Lifecycle.Deadline.After(until)) {
				continue
			}
			if err == nil {
				err = yield(i)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Find returns the runs whose id is name: of all namespaces, or of one. Only if there are none, it returns those whose
// id begins with name, at most maxFound, the newest first. A name of the form namespace/id means that run alone.
func (c *Client) Find(ctx context.Context, name, namespace string) (exact, begun []store.Instance, err error) {
	among := []string{namespace}
	if before, id, ok := strings.Cut(name, "/"); ok {
		_, err := c.store.Load(ctx, store.Instance{Namespace: before, ID: id})
		return []store.Instance{{Namespace: before, ID: id}}, nil, err
	}
	if namespace == "" {
		if among, err = definition.Namespaces(ctx, c.store); err != nil {
			return nil, nil, err
		}
	}
	for _, namespace := range among { // there are few: this is quick, however many runs there are
		switch _, err := c.store.Load(ctx, store.Instance{Namespace: namespace, ID: name}); {
		case err == nil:
			exact = append(exact, store.Instance{Namespace: namespace, ID: name})
		case store.RefusedAs(err) != store.NoSuch:
			return nil, nil, err
		}
	}
	if len(exact) > 0 {
		return exact, nil, nil
	}
	err = c.List(ctx, Filter{Namespace: namespace, Prefix: name}, func(f Found) bool {
		begun = append(begun, f.Instance)
		return len(begun) < maxFound
	})
	return nil, begun, err
}

// maxFound bounds how many runs Find returns for the beginning of an id.
const maxFound = 20
