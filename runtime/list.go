package runtime

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Filter chooses instances. Empty members choose all.
type Filter struct {
	Namespace   string
	Workflow    string // namespace/name or namespace/name:version
	Status      string // a status phase, or quarantined
	BusinessKey string
	Labels      map[string]string
	Prefix      string // of the id
}

// Found is an instance that a filter chooses.
type Found struct {
	Instance Instance
	Record   Record
	Info     *Info
}

// Status returns the phase of the instance, or quarantined.
func (f Found) Status() string {
	if f.Record.Reason == Quarantined {
		return Quarantined
	}
	return string(f.Record.Status)
}

func (f Filter) matches(i Found) bool {
	equal := func(want, got string) bool { return want == "" || want == got }
	for name, value := range f.Labels {
		if i.Info.Labels[name] != value {
			return false
		}
	}
	reference := i.Info.Workflow.String()
	return equal(f.Namespace, i.Instance.Namespace) && equal(f.Status, i.Status()) && equal(f.BusinessKey, i.Info.BusinessKey) &&
		strings.HasPrefix(i.Instance.ID, f.Prefix) &&
		(f.Workflow == "" || f.Workflow == reference || strings.HasPrefix(reference, f.Workflow+":"))
}

// List calls yield with the instances that a filter chooses, the newest first, until it returns false.
func (c *Client) List(ctx context.Context, f Filter, yield func(Found) bool) error {
	feeds := make([]*feed, c.store.Layout().Partitions)
	for p := range feeds {
		feeds[p] = &feed{store: c.store, partition: p}
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
		info, err := ParseInfo(item.Info)
		if err != nil {
			continue // scrub reports what cannot be read
		}
		if found := (Found{item.Instance, item.Record, info}); f.matches(found) && !yield(found) {
			return nil
		}
	}
}

// feed reads one partition page by page.
type feed struct {
	store     Store
	partition int
	cursor    string
	items     []Listed
	ended     bool
}

const feedPage = 50

func (f *feed) fill(ctx context.Context) error {
	for len(f.items) == 0 && !f.ended {
		page, err := f.store.List(ctx, f.partition, f.cursor, feedPage)
		if err != nil {
			return err
		}
		f.items, f.cursor, f.ended = page.Items, page.Cursor, page.Cursor == ""
	}
	return nil
}

func (f *feed) head() time.Time { return f.items[0].Record.CreatedAt() }

// longLease is longer than leases are: what somebody holds may stand at the end of its lease.
const longLease = time.Minute

// Upcoming calls yield with the instances of which a deadline passes before a time, in no order.
func (c *Client) Upcoming(ctx context.Context, until time.Time, yield func(Instance) error) error {
	for p := range c.store.Layout().Partitions {
		instances, err := c.store.Upcoming(ctx, p, until.Add(longLease))
		if err != nil {
			return err
		}
		for _, i := range instances {
			l, err := c.store.Load(ctx, i)
			if RefusedAs(err) == NoSuch || err == nil && (l.Record.Deadline == 0 || l.Record.Deadline > Millis(until)) {
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

// Find returns the instances that a name may mean: namespace/id exactly, an id, or the beginning of an id.
func (c *Client) Find(ctx context.Context, name, namespace string) ([]Instance, error) {
	if i, err := ParseInstance(name); err == nil {
		if _, err := c.store.Load(ctx, i); err != nil {
			return nil, err
		}
		return []Instance{i}, nil
	}
	if namespace != "" {
		i := Instance{namespace, name}
		if _, err := c.store.Load(ctx, i); err == nil {
			return []Instance{i}, nil
		}
	}
	var exact, all []Instance
	err := c.List(ctx, Filter{Namespace: namespace, Prefix: name}, func(f Found) bool {
		if f.Instance.ID == name {
			exact = append(exact, f.Instance)
		}
		all = append(all, f.Instance)
		return len(all) < maxFound
	})
	if len(exact) > 0 {
		return exact, err
	}
	return all, err
}

// maxFound bounds what Find returns.
const maxFound = 20
