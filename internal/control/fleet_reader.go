package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// fleetReader finds the events of all runs. It looks at the partitions that were written to: at the runs that are new there, and at those that had not
// ended when it looked last.
type fleetReader struct {
	*fleet
	partitions map[int]*fleetPartition
	mark       time.Time // what was stored before was read; zero before the first look has ended
}

// fleetPartition is what is known of a partition.
type fleetPartition struct {
	writes int64 // when it was looked at
	newest time.Time
	swept  time.Time // when all its runs were looked at
	listed bool      // all its runs were listed once
	runs   map[store.Instance]*fleetRun
}

// fleetRun is what is known of a run that has not ended, or has begun lately.
type fleetRun struct {
	created time.Time
	entries int64 // of its history that were read
	looked  int64 // number of the look
}

const (
	// lookAtFleet is the shortest time between two looks, and restOfFleet how many times as long as a look took there is none: however many runs there
	// are, those who follow cost the store no more than a tenth of one who reads all the time.
	lookAtFleet = time.Second
	restOfFleet = 9
	// sweepFleet is how often all runs are looked at: some come to be in the middle of a list, from another store.
	sweepFleet = 5 * time.Minute
	// margin is more than runs of one partition are out of order in a list.
	margin = 10 * time.Second
	// lag is more than the time of what a store writes is behind the time that it tells. Redis tells scripts the time at which it began to serve a batch.
	lag = 2 * time.Second
)

func newFleetReader(f *fleet) *fleetReader {
	return &fleetReader{fleet: f, partitions: map[int]*fleetPartition{}}
}

// run looks again and again until ctx ends.
func (r *fleetReader) run(ctx context.Context) {
	for n := int64(1); ctx.Err() == nil; n++ {
		began := time.Now()
		if err := r.look(ctx, n); err != nil && ctx.Err() == nil {
			_ = pause(ctx, nil, func() error { return errAgain }, retryFollowing) // the store does not answer: that is not the end
			continue
		}
		rest := max(lookAtFleet, restOfFleet*time.Since(began))
		_ = pause(ctx, nil, func() error { return errAgain }, rest)
	}
}

// look looks at all partitions that were written to since the last look.
func (r *fleetReader) look(ctx context.Context, n int64) error {
	written, err := r.store.Written(ctx)
	if err != nil {
		return err
	}
	began := earliest(written)
	if began.IsZero() {
		return errors.New("no partition knows what time it is") // whoever polls one finds out
	}
	for p, w := range written {
		known := r.partitions[p]
		if known != nil && known.writes == w.Writes && w.Writes >= 0 {
			continue
		}
		switch err := r.lookAt(ctx, p, n, w); {
		case isUnreadable(r.store, err): // the other partitions go on, and the log tells of the damage
			continue
		case err != nil:
			return err
		}
		r.partitions[p].writes = w.Writes
	}
	r.mark = began.Add(-lag)
	r.add(nil) // from now on nothing is missed
	return nil
}

// earliest returns what time it is where it is earliest, among the partitions whose time is known.
func earliest(written []store.Written) (at time.Time) {
	for _, w := range written {
		if !w.At.IsZero() && (at.IsZero() || w.At.Before(at)) {
			at = w.At
		}
	}
	return at
}

// lookAt looks at a partition.
func (r *fleetReader) lookAt(ctx context.Context, p int, n int64, w store.Written) error {
	known := r.partitions[p]
	if known == nil {
		known = &fleetPartition{runs: map[store.Instance]*fleetRun{}}
	}
	if err := r.lookAtNew(ctx, p, n, known, w.At); err != nil {
		return err
	}
	r.partitions[p], known.listed = known, true
	for i, run := range known.runs {
		if run.looked == n {
			continue
		}
		l, err := r.store.Load(ctx, i)
		switch {
		case store.RefusedAs(err) == store.NoSuch: // it was deleted
			delete(known.runs, i)
			continue
		case isUnreadable(r.store, err): // lists and doctor tell of it
			continue
		case err != nil:
			return err
		}
		if err := r.lookAtRun(ctx, known, n, store.Listed{Instance: i, Lifecycle: l.Lifecycle, Invocation: l.Invocation}); err != nil {
			return err
		}
	}
	return nil
}

// lookAtNew looks at the runs of a partition that are new, or from time to time at all.
func (r *fleetReader) lookAtNew(ctx context.Context, p int, n int64, known *fleetPartition, now time.Time) error {
	until, newest := known.newest.Add(-margin), known.newest
	sweeps := now.Sub(known.swept) >= sweepFleet
	for cursor, size := "", 50; ; size = min(2*size, 1000) {
		page, err := r.store.List(ctx, p, cursor, size)
		if err != nil {
			return err
		}
		for _, run := range page.Items {
			if !sweeps && run.Lifecycle.Created.Before(until) {
				known.newest = newest
				return nil
			}
			if run.Lifecycle.Created.After(newest) {
				newest = run.Lifecycle.Created
			}
			if known.runs[run.Instance] == nil && run.Lifecycle.Created.Before(until) { // what it did before counts for nobody
				known.runs[run.Instance] = &fleetRun{created: run.Lifecycle.Created, entries: run.Lifecycle.Entries}
			}
			if err := r.lookAtRun(ctx, known, n, run); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	known.newest, known.swept = newest, now // not before: a look that fails in between leaves runs for the next one
	return nil
}

// lookAtRun reads what is new in the history of a run.
func (r *fleetReader) lookAtRun(ctx context.Context, known *fleetPartition, n int64, of store.Listed) error {
	l := &of.Lifecycle
	run := known.runs[of.Instance]
	if run == nil || !run.created.Equal(l.Created) || l.Entries < run.entries { // it is new, or another one of this name
		run = &fleetRun{created: l.Created}
	}
	run.looked = n
	known.runs[of.Instance] = run
	if r.mark.IsZero() || !known.listed { // what it did before the end of the first look counts for nobody
		run.entries = l.Entries
	}
	if l.Entries > run.entries {
		if err := r.read(ctx, of, run); err != nil {
			return err
		}
	}
	if l.Status.Final() && l.Created.Before(known.newest.Add(-margin)) {
		delete(known.runs, of.Instance)
	}
	return nil
}

// read adds the events of a run that were not read yet.
func (r *fleetReader) read(ctx context.Context, of store.Listed, run *fleetRun) error {
	invocation, err := execution.ParseInvocation(of.Invocation)
	if err != nil {
		run.entries = of.Lifecycle.Entries
		return nil // scrub reports it
	}
	found := &filter.Run{Instance: of.Instance, Lifecycle: of.Lifecycle, Invocation: invocation}
	var damage error // the other runs go on
	events, err := r.eventsFrom(ctx, found, run.entries, r.mark)
	switch {
	case store.RefusedAs(err) == store.NoSuch: // it is deleted meanwhile
	case isUnreadable(r.store, err):
		damage = err
	case err != nil:
		return err
	}
	run.entries = of.Lifecycle.Entries
	var all []fleetEvent
	for _, e := range events {
		all = append(all, fleetEvent{run: found, event: e})
	}
	if damage != nil {
		all = append(all, fleetEvent{run: found, unreadable: damage})
	}
	if len(all) > 0 {
		r.add(all)
	}
	return nil
}

// eventsFrom returns the events of a run from an entry of its history on, as far as its record goes. One goes on after each from a mark.
func (f *fleet) eventsFrom(ctx context.Context, r *filter.Run, from int64, mark time.Time) (all []FollowedEvent, err error) {
	about, at := aboutRun(r.Instance, r.Invocation), from
	_, err = f.client.History(ctx, r.Instance, int(from), func(e client.HistoryEntry) error {
		if at == r.Lifecycle.Entries {
			return errEnough // what comes after it is read with the next record
		}
		at++
		for _, event := range eventsOf(about, e) {
			event.ID = fleetEventID(mark, r.Instance, event.ID)
			all = append(all, event)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, err
}

// historyStep is how many entries are looked back at a time.
const historyStep = 200

// eventsSince returns the events of a run that were stored since a time, and maybe some before.
func (f *fleet) eventsSince(ctx context.Context, r *filter.Run, since time.Time) ([]FollowedEvent, error) {
	from := r.Lifecycle.Entries
	for from > 0 {
		from = max(0, from-historyStep)
		first, err := f.store.History(ctx, r.Instance, int(from), 1)
		if store.RefusedAs(err) == store.NoSuch {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if len(first) > 0 && first[0].At.Before(since) {
			break
		}
	}
	all, err := f.eventsFrom(ctx, r, from, since)
	if store.RefusedAs(err) == store.NoSuch {
		return nil, nil
	}
	return slices.Clip(all), err
}
