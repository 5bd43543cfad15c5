package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// Query asks for a page of runs, the newest first.
type Query struct {
	Where  filter.Filter
	Limit  int    // how many at most; at least 1
	Cursor string // that the page before has returned; empty for the first page
}

// Page is a part of a list.
type Page struct {
	Runs   []filter.Run
	Cursor string // for the next page; empty after the last page
	// Unreadable counts runs among them that cannot be read, and might be meant.
	Unreadable int
}

// ReadAs returns a filter that knows the types of errors as this client reads them (Config.ErrorAliases).
func (c *Client) ReadAs(where filter.Filter) filter.Filter { return where.WithAliases(c.aliases) }

// List returns a page of the runs that match a filter, the newest first. Runs that start later do not move the following pages. A cursor
// that was not returned by a page is a *CursorError.
func (c *Client) List(ctx context.Context, q Query) (page Page, err error) {
	q.Where = c.ReadAs(q.Where)
	m, err := c.merge(ctx, q.Where, q.Cursor)
	if err != nil {
		return page, err
	}
	defer func() { page.Unreadable = m.unreadable }()
	completes := completion{client: c, where: q.Where, also: true, alsoAcknowledged: true}
	for {
		r, err := m.next(ctx)
		if err == nil && r != nil {
			err = completes.complete(ctx, r)
		}
		switch {
		case err != nil || r == nil:
			return page, err
		case !q.Where.Matches(r):
		case len(page.Runs) == max(q.Limit, 1): // and this is one more
			page.Cursor, err = m.before()
			return page, err
		default:
			page.Runs = append(page.Runs, *r)
		}
	}
}

// Each calls yield with the runs that a filter chooses, the newest first, until it returns false.
func (c *Client) Each(ctx context.Context, where filter.Filter, yield func(*filter.Run) bool) error {
	_, err := c.each(ctx, where, completion{}, yield)
	return err
}

// Choose is Each; it also counts the runs that cannot be read, and might be meant.
func (c *Client) Choose(ctx context.Context, where filter.Filter, yield func(*filter.Run) bool) (unreadable int, err error) {
	return c.each(ctx, where, completion{}, yield)
}

// each is Each; it also counts the unreadable runs that might match. Completes specifies data of the runs that is needed besides the fields
// of the filter.
func (c *Client) each(ctx context.Context, where filter.Filter, completes completion, yield func(*filter.Run) bool) (unreadable int, err error) {
	where = c.ReadAs(where)
	m, err := c.merge(ctx, where, "")
	if err != nil {
		return 0, err
	}
	completes.client, completes.where = c, where
	for {
		r, err := m.next(ctx)
		if err == nil && r != nil {
			err = completes.complete(ctx, r)
		}
		if err != nil || r == nil || where.Matches(r) && !yield(r) {
			return m.unreadable, err
		}
	}
}

// Group is how many runs have something in common.
type Group struct {
	Values []string // of each field; empty for runs without a value
	Runs   int
	// First and Last are when the earliest and the latest trouble of the runs began; zero without trouble.
	First, Last time.Time
}

// Count counts the runs that match a filter, grouped by the values of a field; the largest group is first. Without a field there is one
// group. Unreadable counts runs that cannot be read and might match.
func (c *Client) Count(ctx context.Context, where filter.Filter, field *filter.Grouping) (all []Group, unreadable int, err error) {
	counts := map[string]*Group{}
	by := func(*filter.Run) []string { return []string{""} }
	if field == nil {
		counts[""] = &Group{Values: []string{""}}
	} else {
		by = field.Of
	}
	completes := completion{also: field != nil && field.ReadsWaiting, alsoAcknowledged: field != nil && field.ReadsAcknowledged}
	unreadable, err = c.each(ctx, where, completes, func(r *filter.Run) bool {
		values := by(c.read(r))
		key := strings.Join(values, "\x00")
		if counts[key] == nil {
			counts[key] = &Group{Values: values}
		}
		counts[key].add(r)
		return true
	})
	for _, g := range counts {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), slices.Compare(a.Values, b.Values)) })
	return all, unreadable, err
}

// add counts a run.
func (g *Group) add(r *filter.Run) {
	g.Runs++
	since := r.Since()
	if g.First = interpreter.Earlier(g.First, since); since.After(g.Last) {
		g.Last = since
	}
}

// read returns a run whose error has the type that its own is read as.
func (c *Client) read(r *filter.Run) *filter.Run {
	if len(c.aliases) == 0 || r.Lifecycle.Failure.Type+r.Lifecycle.Trouble.Type == "" {
		return r
	}
	read := *r
	read.Lifecycle.Failure.Type = c.aliases.Resolve(r.Lifecycle.Failure.Type)
	read.Lifecycle.Trouble.Type = c.aliases.Resolve(r.Lifecycle.Trouble.Type)
	return &read
}

// merge merges the runs of all partitions, the newest first. Runs of the same moment are ordered by partition.
type merge struct {
	feeds []*feed // that are not at their end
	at    progress
	prior progress // progress before the last returned run; of after, its value for the partition of that run

	where      filter.Filter
	unreadable int // runs that cannot be read, and that the filter may choose
}

// progress is the position of a list in each partition.
type progress struct {
	last  position
	after map[int]string // by partition, the cursor of the last run that was taken from it
}

// merge begins behind the run that a cursor is of.
func (c *Client) merge(ctx context.Context, where filter.Filter, cursor string) (*merge, error) {
	partitions := c.store.Layout().Partitions
	at, err := readCursor(cursor, partitions)
	if err != nil {
		return nil, err
	}
	m := &merge{at: at, where: where}
	for p := range partitions {
		f := &feed{store: c.store, partition: p, cursor: at.after[p], page: firstPage}
		if f.cursor == "" {
			f.skip = at.last
		}
		if err := m.fill(ctx, f); store.RefusedAs(err) == store.NoSuch {
			return nil, &CursorError{cursor}
		} else if err != nil {
			return nil, err
		}
		m.feeds = append(m.feeds, f)
	}
	return m, nil
}

// fill fills a feed, and counts its unreadable runs.
func (m *merge) fill(ctx context.Context, f *feed) error {
	return f.fill(ctx, func(u store.Unreadable) {
		if m.where.MayMatch(u.Instance) {
			m.unreadable++
		}
	})
}

// next returns the next run, nil at the end. Unreadable runs are omitted and counted.
func (m *merge) next(ctx context.Context) (*filter.Run, error) {
	for {
		m.feeds = slices.DeleteFunc(m.feeds, func(f *feed) bool { return len(f.items) == 0 })
		if len(m.feeds) == 0 {
			return nil, nil
		}
		newest := slices.MinFunc(m.feeds, func(a, b *feed) int { return a.head().compare(b.head()) })
		item := newest.items[0]
		m.prior = progress{m.at.last, map[int]string{newest.partition: m.at.after[newest.partition]}}
		m.at.last, m.at.after[newest.partition] = newest.head(), item.Cursor
		if newest.items = newest.items[1:]; len(newest.items) == 0 {
			if err := m.fill(ctx, newest); err != nil {
				return nil, err
			}
		}
		if err := hold(ctx, item.Invocation); err != nil {
			return nil, err
		}
		if info, err := execution.ParseInvocation(item.Invocation); err == nil {
			return &filter.Run{Instance: item.Instance, Lifecycle: item.Lifecycle, Invocation: info}, nil
		}
		if m.where.MayMatch(item.Instance) {
			m.unreadable++
		}
	}
}

// feed reads one partition page by page.
type feed struct {
	store     store.Store
	partition int
	cursor    string
	skip      position // runs before it have started since the list began; zero for none
	items     []store.Listed
	ended     bool
	page      int // how many runs are asked for next
}

// The pages of a feed grow: most callers read only the newest runs, and a caller that continues reads all.
const firstPage, maxPage = 50, 1000

func (f *feed) fill(ctx context.Context, unreadable func(store.Unreadable)) error {
	for len(f.items) == 0 && !f.ended {
		page, err := f.store.List(ctx, f.partition, f.cursor, f.page)
		if err != nil {
			return fmt.Errorf("list the runs: %w", err)
		}
		for _, u := range page.Unreadable {
			unreadable(u)
		}
		f.page = min(2*f.page, maxPage)
		f.items, f.cursor, f.ended = page.Items, page.Cursor, page.Cursor == ""
		for !f.skip.created.IsZero() && len(f.items) > 0 {
			if f.head().compare(f.skip) > 0 {
				f.skip = position{}
				break
			}
			f.items = f.items[1:]
		}
	}
	return nil
}

func (f *feed) head() position { return position{f.items[0].Lifecycle.Created, f.partition} }

// Upcoming calls yield with each run that has a deadline before a time, or an activity that has one, in no order.
func (c *Client) Upcoming(ctx context.Context, until time.Time, yield func(store.Instance) error) error {
	for p := range c.store.Layout().Partitions {
		instances, err := c.store.Upcoming(ctx, p, until)
		if err != nil {
			return err
		}
		for _, i := range distinct(instances) {
			l, err := c.store.Load(ctx, i)
			if store.RefusedAs(err) == store.NoSuch || err == nil && !passes(l, until) {
				continue
			}
			if err == nil || store.IsUnreadable(err) { // the description of the run reports the error
				err = yield(i)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// passes reports whether a deadline of a run or of its activities passes before a time.
func passes(l store.Loaded, until time.Time) bool {
	first := interpreter.Earlier(l.Lifecycle.Deadline, firstOfActivities(l.Activities))
	return !first.IsZero() && !first.After(until)
}

// distinct returns each run once.
func distinct(all []store.Instance) []store.Instance {
	slices.SortFunc(all, func(a, b store.Instance) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(all)
}

// Find returns the runs with the ID name in some namespaces, or in all if no namespace is given. If there are no such runs, it returns the
// runs whose ID begins with name, at most maxFound, the newest first. A name of the form namespace/id matches only that run.
func (c *Client) Find(ctx context.Context, name string, namespaces ...string) (exact, begun []store.Instance, err error) {
	among := namespaces
	before, id, full := strings.Cut(name, "/")
	switch {
	case full && len(among) > 0 && !slices.Contains(among, before):
		return nil, nil, nil
	case full:
		among, name = []string{before}, id
	case len(among) == 0:
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
	if len(exact) > 0 || full {
		return exact, nil, nil
	}
	err = c.Each(ctx, filter.In(namespaces...).And(filter.Begins(name)), func(r *filter.Run) bool {
		begun = append(begun, r.Instance)
		return len(begun) < maxFound
	})
	return nil, begun, err
}

// maxFound bounds how many runs Find returns for the beginning of an id.
const maxFound = 20
