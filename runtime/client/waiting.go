package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// This file determines the causes for which runs wait.

// surroundings is the information about a store, besides the records of its runs, that determines the causes for which they wait.
type surroundings struct {
	at      time.Time // by the store's clock
	queues  map[string]queue.Rules
	workers []presence.Worker
	known   bool // workers are all that are there
	mute    bool // the store takes no word from workers
	asked   bool // whether it does
}

// surroundings reads the information besides the records.
func (c *Client) surroundings(ctx context.Context) (s surroundings, err error) {
	work, err := c.store.Poll(ctx, 0, 1, false)
	if err != nil {
		return s, err
	}
	s.at = work.At
	if s.queues, err = queue.Readable(ctx, c.store); err != nil {
		return s, err
	}
	if c.workers != nil {
		all, err := c.workers(ctx)
		s.workers, s.known = all, err == nil // where they cannot be counted, they are taken to be there
		s.mute = errors.As(err, new(*store.UnheardError))
	}
	return s, nil
}

// hear checks once whether the store accepts messages from workers, if the lease of a run expired although workers are present that should
// have taken the run.
func (s *surroundings) hear(ctx context.Context, from store.Store, r *store.Lifecycle) {
	if s.asked || len(s.workers) == 0 || !leaseEnded(r, s.at) {
		return
	}
	s.asked = true
	if presence.Unheard(ctx, from) != nil {
		s.mute, s.known = true, false
	}
}

// isHeldUp reports whether rules hold a queue up.
func (s *surroundings) isHeldUp() bool {
	for _, rules := range s.queues {
		if rules.Paused != nil || rules.Limited() {
			return true
		}
	}
	return false
}

// waiting returns the causes for which a run waits. The activities are stored beside it.
func (s *surroundings) waiting(r *filter.Run, activities []*activity.Activity) []string {
	serving := presence.Serving(s.workers, familyOf(r)...)
	return r.Lifecycle.Waiting(store.Surroundings{
		At: s.at, Gone: s.known && len(serving) == 0, Unknown: s.mute,
		HeldUp: func(n store.Need) bool {
			rules := s.queues[queueOf(n.Parts())]
			there := !s.known || slices.ContainsFunc(serving, func(w presence.Worker) bool { return w.Has(n) })
			return rules.Paused != nil || rules.Limited() && there
		},
		ActivitiesHeldUp: len(activities) > 0 && !slices.ContainsFunc(activities, func(a *activity.Activity) bool { return !s.holdsUp(a) }),
	})
}

// holdsUp reports whether an activity waits since its queue is paused, or for its turn.
func (s *surroundings) holdsUp(a *activity.Activity) bool {
	rules := s.queues[a.Queue]
	return !a.Taken() && !a.Available.After(s.at) && (rules.Paused != nil || rules.Limited())
}

// familyOf returns the related runs whose workers also work on this run.
func familyOf(r *filter.Run) []store.Instance {
	runs := []store.Instance{r.Instance}
	if r.Invocation.Family != nil { // a worker of a run works on all runs that it starts
		runs = append(runs, *r.Invocation.Family)
	}
	return runs
}

// completion adds data to listed runs that is missing in their records: when their activities are due, and the causes for which they wait.
type completion struct {
	client *Client
	where  filter.Filter
	also   bool // the causes are needed for all runs that match the filter
	around *surroundings
	// alsoAcknowledged requests the acknowledgements of trouble, and acknowledged contains them when they were read.
	alsoAcknowledged bool
	acknowledged     map[string]*filter.Acknowledgement
}

// complete completes a run, as far as the filter asks for it, or chooses the run anyway.
func (c *completion) complete(ctx context.Context, r *filter.Run) error {
	if err := c.acknowledge(ctx, r); err != nil {
		return err
	}
	if r.Lifecycle.Status.Final() {
		return nil
	}
	deadlines, waiting := c.where.ReadsDeadlines(), c.where.ReadsWaiting()
	if !deadlines && !waiting && !(c.also && c.where.Matches(r)) {
		return nil
	}
	if waiting = waiting || c.also; waiting && c.around == nil {
		around, err := c.client.surroundings(ctx)
		if err != nil {
			return err
		}
		c.around = &around
	}
	var activities []*activity.Activity
	if r.Lifecycle.Awaits > 0 && (deadlines || c.also || c.around.isHeldUp()) {
		l, err := c.client.store.Load(ctx, r.Instance)
		if store.RefusedAs(err) == store.NoSuch || store.IsUnreadable(err) { // it was removed concurrently, or the checks of the store report it
			return nil
		}
		if err != nil {
			return err
		}
		r.ActivityDue = firstOfActivities(l.Activities)
		for _, a := range readActivities(l.Activities) {
			activities = append(activities, a)
		}
	}
	if waiting {
		c.around.hear(ctx, c.client.store, &r.Lifecycle)
		r.Waiting = c.around.waiting(r, activities)
	}
	return nil
}

// lackedActivity describes why a task waits for an activity whose record cannot be read.
func (d *Description) lackedActivity(at string) string {
	if d.newer != nil {
		return fmt.Sprintf("the stored activity of %s cannot be read here: %s", at, d.newer)
	}
	return fmt.Sprintf("the stored activity of %s is damaged or missing: swrun repair schedules it again, and so does a worker", at)
}
