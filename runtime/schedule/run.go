package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun/runtime/store"
)

const (
	// lookEvery is the interval of checks for changed schedules, and for awaited ends of runs.
	lookEvery = time.Second
	// listEvery is how often all schedules are read, though none has been changed.
	listEvery = time.Minute
	// reconcileEvery is the interval of comparisons of all deployments with the schedules.
	reconcileEvery = 10 * time.Minute
	// atOnce is how many schedules are looked after at a time.
	atOnce = 16
)

// watch is a process's knowledge of the schedules and of the store's time.
type watch struct {
	*Schedules
	known      []Schedule
	version    int64 // of the changes that are known
	at         time.Time
	read       time.Time // when at was read, by this process
	listed     time.Time // when all were read, the same
	reconciled time.Time // the same
	told       string    // why they could not be looked after; empty since they could
}

// Run starts due runs, until ctx ends. Any number of processes may do so concurrently.
func (s *Schedules) Run(ctx context.Context) {
	w := &watch{Schedules: s}
	for ctx.Err() == nil {
		pause := lookEvery
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.lookFailed(err)
		} else if next := w.next(); !next.IsZero() {
			pause = min(pause, max(next.Sub(w.now()), time.Millisecond))
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// lookFailed logs why the schedules cannot be processed. Damage is logged once, until they can be processed again.
func (w *watch) lookFailed(err error) {
	if text := err.Error(); !store.IsUnreadable(err) || text != w.told {
		w.Log.Warn("the schedules cannot be looked after", "error", text)
		w.told = text
	}
}

// now returns a lower bound of the store's time.
func (w *watch) now() time.Time {
	if w.at.IsZero() {
		return w.at
	}
	return w.at.Add(w.Now().Sub(w.read))
}

// next returns the first time of all schedules.
func (w *watch) next() (next time.Time) {
	for n := range w.known {
		if t := w.known[n].Next(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// look reads changes, and processes the schedules that need it.
func (w *watch) look(ctx context.Context) error {
	if w.reconciled.IsZero() || w.Now().Sub(w.reconciled) >= reconcileEvery {
		if err := w.reconcile(ctx); err != nil {
			w.Log.Warn("not all schedules follow what is deployed", "error", err.Error())
		}
		w.reconciled = w.Now()
	}
	changed, err := w.changes(ctx)
	if err != nil {
		return err
	}
	if changed.Version == 0 {
		return nil // nothing was ever scheduled
	}
	w.at, w.read, w.told = changed.At, w.Now(), ""
	if changed.Version != w.version || w.Now().Sub(w.listed) >= listEvery {
		if w.known, err = w.readable(ctx); err != nil {
			return err
		}
		w.version, w.listed = changed.Version, w.Now()
	}
	return w.lookAfter(ctx, w.now())
}

// lookAfter processes the schedules that need it. A schedule that fails does not delay the others.
func (w *watch) lookAfter(ctx context.Context, now time.Time) error {
	var all errgroup.Group
	all.SetLimit(atOnce)
	failed := make([]error, len(w.known))
	for n := range w.known {
		x := &w.known[n]
		if !x.isDue(now) && !x.awaits() && len(x.left(now)) == 0 {
			continue
		}
		all.Go(func() error {
			changed, err := w.attend(ctx, *x, now)
			if err != nil {
				failed[n] = fmt.Errorf("%s: %w", x.Workflow, err)
				return nil
			}
			*x = changed
			return nil
		})
	}
	_ = all.Wait() // each logs its own error
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) > 1 {
		return fmt.Errorf("%d of them, the first: %w", len(failed), failed[0])
	}
	return errors.Join(failed...)
}

// errNothing reports that another process has done it.
var errNothing = errors.New("nothing is to be done")

// attend starts the due runs of a schedule, and returns the updated schedule.
func (w *watch) attend(ctx context.Context, x Schedule, now time.Time) (Schedule, error) {
	ended, err := w.ended(ctx, &x)
	if err != nil {
		return x, err
	}
	if !x.isDue(now) && len(ended) == 0 && len(x.left(now)) == 0 {
		return x, nil
	}
	var p *plan
	var start []Firing
	entry := entryOf(x.Workflow.Namespace, x.Workflow.Name)
	x, err = entry.Change(ctx, w.Store, func(x *Schedule) error {
		if x.isEmpty() {
			return errNothing
		}
		if p, err = w.plan(ctx, x.Workflow, x.Digest); err != nil {
			return err
		}
		start = x.left(now)
		decided := x.endOf(p, ended)
		if x.decide(p, now) {
			start, decided = slices.Clone(x.Pending), true
		}
		if !decided {
			return errNothing
		}
		return nil
	}, (*Schedule).isEmpty)
	if errors.Is(err, errNothing) {
		err = nil
	}
	if err != nil || len(start) == 0 {
		return x, err
	}
	return w.fire(ctx, p, x, start)
}

// fire starts runs, and records the results.
func (w *watch) fire(ctx context.Context, p *plan, x Schedule, all []Firing) (Schedule, error) {
	results := make([]error, len(all))
	for n, f := range all {
		_, err := w.Start(ctx, f, map[string]any{})
		if err != nil && !errors.As(err, new(*RefusedError)) {
			return x, err // it is tried again: the run stays in the entry
		}
		if results[n] = err; err != nil {
			w.Log.Warn("a run could not be started at its time", "run", f.Of.Namespace+"/"+f.ID, "workflow", f.Of.String(), "error", err.Error())
		}
	}
	return entryOf(x.Workflow.Namespace, x.Workflow.Name).Change(ctx, w.Store, func(x *Schedule) error {
		for n, f := range all {
			x.fired(p, f, results[n], w.now())
		}
		return nil
	}, (*Schedule).isEmpty)
}

// ended returns when the runs ended whose end is awaited, by their ids.
func (w *watch) ended(ctx context.Context, x *Schedule) (map[string]time.Time, error) {
	var ended map[string]time.Time
	for _, t := range x.Timers {
		if t.Awaits == "" || slices.ContainsFunc(x.Pending, func(f Firing) bool { return f.ID == t.Awaits }) {
			continue
		}
		l, err := w.Store.Load(ctx, store.Instance{Namespace: x.Workflow.Namespace, ID: t.Awaits})
		gone := store.RefusedAs(err) == store.NoSuch
		if err != nil && !gone {
			return nil, err
		}
		if !gone && !l.Lifecycle.Status.Final() {
			continue
		}
		if ended == nil {
			ended = map[string]time.Time{}
		}
		if ended[t.Awaits] = w.now(); !gone && !l.Lifecycle.Closed.IsZero() {
			ended[t.Awaits] = l.Lifecycle.Closed
		}
	}
	return ended, nil
}
