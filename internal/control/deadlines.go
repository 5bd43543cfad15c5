package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Upcoming is a deadline of a run.
type Upcoming struct {
	Run *client.Description
	client.DescribedDeadline
}

// Key returns a text for sorting deadlines by their times.
func (u Upcoming) Key() string {
	return u.At.UTC().Format("2006-01-02T15:04:05.000000000") + " " + u.Run.Instance.String() + " " + string(u.Pointer) + " " + u.Kind
}

// JSON returns the deadline in its form of package api.
func (u Upcoming) JSON() api.UpcomingDeadline {
	return api.UpcomingDeadline{Run: u.Run.Instance.String(), Workflow: u.Run.Invocation.Workflow.String(), Deadline: api.NewDeadline(u.DescribedDeadline)}
}

// Upcoming returns the deadlines that pass within a time, of the runs of the wanted namespaces, the next one first. A run that cannot be
// described is passed to unread, and does not hide the others.
func (c *Control) Upcoming(ctx context.Context, within time.Duration, wanted func(namespace string) bool, unread func(store.Instance, error)) ([]Upcoming, error) {
	until := c.now().Add(within)
	all := []Upcoming{}
	err := c.client.Upcoming(ctx, until, func(i store.Instance) error {
		if !wanted(i.Namespace) {
			return nil
		}
		d, err := c.client.Describe(ctx, i)
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case store.RefusedAs(err) == store.NoSuch: // the run was just deleted
			return nil
		case err != nil:
			unread(i, err)
			return nil
		}
		for _, in := range d.Deadlines {
			if !in.At.After(until) && !in.OnceBegun {
				all = append(all, Upcoming{d, in})
			}
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b Upcoming) int { return cmp.Compare(a.Key(), b.Key()) })
	return all, err
}
