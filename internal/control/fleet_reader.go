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

// fleetReader finds the events of all runs. It examines the partitions that were written to: their new runs, and the runs that were in progress at
// its last look.
type fleetReader struct {
	*fleet
	partitions map[int]*fleetPartition
	mark       time.Time // everything that was stored before was read; zero before the end of the first look
}

// fleetPartition is the known state of a partition.
type fleetPartition struct {
	writes int64 // number of writes at the last look
	newest time.Time
	swept  time.Time // time of the last look at all of its runs
	listed bool      // all of its runs were listed once
	runs   map[store.Instance]*fleetRun
}

// fleetRun is the known state of a run that is in progress, or has begun lately.
type fleetRun struct {
	created time.Time
	entries int64 // number of entries of its history that were read
	looked  int64 // number of the last look
}

const (
	// lookAtFleet is the minimum time between two looks. restOfFleet is the minimum rest after a look, as a multiple of its duration: with any number
	// of runs, the followers cost the store at most a tenth of a permanent reader.
	lookAtFleet = time.Second
	restOfFleet = 9
	// sweepFleet is the interval of the looks at all runs: imports put runs into the middle of a list.
	sweepFleet = 5 * time.Minute
	// margin is longer than the disorder of the runs of one partition in a list.
	margin = 10 * time.Second
	// lag is longer than the delay of the time of a written event behind the time of the store. Redis gives scripts the time at which it began to
	// serve a batch.
	lag = 2 * time.Second
)

func newFleetReader(f *fleet) *fleetReader {
	return &fleetReader{fleet: f, partitions: map[int]*fleetPartition{}}
}

// run looks repeatedly until ctx ends.
func (r *fleetReader) run(ctx context.Context) {
	for n := int64(1); ctx.Err() == nil; n++ {
		began := time.Now()
		if err := r.look(ctx, n); err != nil && ctx.Err() == nil {
			_ = pause(ctx, nil, func() error { return errAgain }, retryFollowing) // an outage of the store does not end the reader
			continue
		}
		rest := max(lookAtFleet, restOfFleet*time.Since(began))
		_ = pause(ctx, nil, func() error { return errAgain }, rest)
	}
}

// look examines all partitions that were written to since the last look.
func (r *fleetReader) look(ctx context.Context, n int64) error {
	written, err := r.store.Written(ctx)
	if err != nil {
		return err
	}
	began := earliest(written)
	if began.IsZero() {
		return errors.New("no partition has returned its time") // no partition is available; a poll of one reports the error
	}
	for p, w := range written {
		known := r.partitions[p]
		if known != nil && known.writes == w.Writes && w.Writes >= 0 {
			continue
		}
		switch err := r.lookAt(ctx, p, n, w); {
		case isUnreadable(r.store, err): // the reader continues with the other partitions, and the log reports the damage
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

// earliest returns the earliest time of the partitions whose time is known.
func earliest(written []store.Written) (at time.Time) {
	for _, w := range written {
		if !w.At.IsZero() && (at.IsZero() || w.At.Before(at)) {
			at = w.At
		}
	}
	return at
}

// lookAt examines a partition.
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
		case isUnreadable(r.store, err): // lists and doctor report it
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

// lookAtNew examines the new runs of a partition, or at intervals all of its runs.
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
			if known.runs[run.Instance] == nil && run.Lifecycle.Created.Before(until) { // its earlier events have no follower
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
	known.newest, known.swept = newest, now // not before: a failed look leaves its runs to the next one
	return nil
}

// lookAtRun reads the new part of a run's history.
func (r *fleetReader) lookAtRun(ctx context.Context, known *fleetPartition, n int64, of store.Listed) error {
	l := &of.Lifecycle
	run := known.runs[of.Instance]
	if run == nil || !run.created.Equal(l.Created) || l.Entries < run.entries { // the run is new, or another one with this name
		run = &fleetRun{created: l.Created}
	}
	run.looked = n
	known.runs[of.Instance] = run
	if r.mark.IsZero() || !known.listed { // events before the end of the first look have no follower
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

// read adds the unread events of a run.
func (r *fleetReader) read(ctx context.Context, of store.Listed, run *fleetRun) error {
	invocation, err := execution.ParseInvocation(of.Invocation)
	if err != nil {
		run.entries = of.Lifecycle.Entries
		return nil // scrub reports it
	}
	found := &filter.Run{Instance: of.Instance, Lifecycle: of.Lifecycle, Invocation: invocation}
	var damage error // the reader continues with the other runs
	events, err := r.eventsFrom(ctx, found, run.entries, r.mark)
	switch {
	case store.RefusedAs(err) == store.NoSuch: // it was just deleted
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

// eventsFrom returns the events of a run from an entry of its history up to the last entry of its record. The ids of the events continue from a mark.
func (f *fleet) eventsFrom(ctx context.Context, r *filter.Run, from int64, mark time.Time) (all []FollowedEvent, err error) {
	about, at := aboutRun(r.Instance, r.Invocation), from
	_, err = f.client.History(ctx, r.Instance, int(from), func(e client.HistoryEntry) error {
		if at == r.Lifecycle.Entries {
			return errEnough // the later entries are read with the next record
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

// historyStep is the number of entries of one step backwards.
const historyStep = 200

// eventsSince returns the events of a run that were stored since a time, and maybe some earlier ones.
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
