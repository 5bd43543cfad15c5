package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

const (
	// maxBusy is how long an executor may work without a pause before its run counts as hanging, so that it is quarantined if this is
	// repeated. The time in which a step waits for other steps does not count.
	maxBusy = time.Minute
	// prolongEvery is the interval of the rounds in which a worker prolongs runs. Several rounds fit into store.HangTolerance, because a
	// call may fail.
	prolongEvery = store.HangTolerance / 4
	// prolongAfter is how long ago the wake-up of a run passed that is prolonged. Most steps take less time.
	prolongAfter = store.HangTolerance / 8
)

// busy are the executors that work now, and whose wake-up as it is stored may pass meanwhile. If the processors have too much to do, a step
// may take longer than store.HangTolerance, although nothing is wrong with the run.
type busy struct {
	mu sync.Mutex
	of map[*executor]*work
}

// work is the current work of an executor.
type work struct {
	began    time.Time // by the store's clock
	wake     time.Time // the stored wake-up, or when it was prolonged last
	deadline time.Time // the stored one; zero for none

	since  time.Time // when it began by the worker's clock, later by the time of its waits
	waited time.Time // since when its step waits for other steps (see expr.Places), by the worker's clock; zero if it does not wait
}

// isLate reports whether a deadline passed after the work began. Another owner then ends what the deadline ends, without this work. Work that
// began later is what the deadline leads to.
func (w *work) isLate(now time.Time) bool {
	return !w.deadline.IsZero() && w.began.Before(w.deadline) && !now.Before(w.deadline)
}

// begin notes the work of an executor.
func (b *busy) begin(x *executor, w *work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[x] = w
}

// end notes that an executor waits.
func (b *busy) end(x *executor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, x)
}

// overdue returns the work of each partition on runs that are to be prolonged.
func (b *busy) overdue(now time.Time) map[*partition]map[store.Instance]*work {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[*partition]map[store.Instance]*work{}
	for x, w := range b.of {
		p := x.partition
		at := p.clock.estimate()
		if at.Sub(w.wake) < prolongAfter || w.isLate(at) || w.waited.IsZero() && now.Sub(w.since) >= maxBusy {
			continue
		}
		if all[p] == nil {
			all[p] = map[store.Instance]*work{}
		}
		all[p][x.instance] = w
	}
	return all
}

// prolonged notes that the wake-ups of runs were prolonged.
func (b *busy) prolonged(all map[store.Instance]*work, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range all {
		w.wake = at
	}
}

// works notes that the executor works from now on, on a run with a stored wake-up and a stored deadline, each zero for none.
func (x *executor) works(wake, deadline time.Time) {
	if wake.IsZero() {
		x.rests()
		return
	}
	x.noted = true
	p := x.partition
	p.w.busy.begin(x, &work{began: p.clock.estimate(), wake: wake, deadline: deadline, since: p.w.c.Now()})
}

// rests notes that the executor does not work any more, or that its run cannot seem to hang.
func (x *executor) rests() {
	if x.noted {
		x.noted = false
		x.partition.w.busy.end(x)
	}
}

// stepWaits notes that the step of an executor waits for other steps, or has waited.
func (x *executor) stepWaits(is bool) {
	b, now := &x.partition.w.busy, x.partition.w.c.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch w := b.of[x]; {
	case w == nil:
	case is:
		w.waited = now
	default:
		w.since, w.waited = w.since.Add(now.Sub(w.waited)), time.Time{}
	}
}

// prolongBusy prolongs the runs whose steps take long, until ctx ends. A partition that does not answer delays no other partition.
func (w *Worker) prolongBusy(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for sleep(ctx, prolongEvery) {
		for p, all := range w.busy.overdue(w.c.Now()) {
			if p.prolonging.TryLock() {
				calls.Go(func() {
					defer p.prolonging.Unlock()
					p.prolong(ctx, all)
				})
			}
		}
	}
}

// prolong gives the executors of runs of the partition more time. If that fails, it is tried again in the next round.
func (p *partition) prolong(ctx context.Context, all map[store.Instance]*work) {
	call, cancel := context.WithTimeout(ctx, min(p.w.leases.CallTimeout(), prolongEvery))
	defer cancel()
	request := store.Promote{Partition: p.n, Instances: slices.Collect(maps.Keys(all)), Worker: p.w.c.Name, Busy: true}
	promoted, err := p.w.c.Store.Promote(call, request)
	if err != nil {
		p.w.c.Log.Warn("runs whose steps take long could not be prolonged; it is tried again", "partition", p.n, "error", err)
		return
	}
	p.clock.update(promoted.At)
	p.w.busy.prolonged(all, promoted.At)
}
