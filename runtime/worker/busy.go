package worker

import (
	"context"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// maxBusy is how long an executor may work without a pause before its run counts as hanging, so that it is quarantined if this is repeated.
// A step that waits for other steps may take longer.
const maxBusy = time.Minute

// busy are the executors that work now, and whose wake-up as it is stored may pass meanwhile. If the processors have too much to do, a step
// may take longer than store.HangTolerance, although nothing is wrong with the run.
type busy struct {
	mu sync.Mutex
	of map[*executor]*work
}

// work is the current work of an executor.
type work struct {
	since    time.Time // by the worker's clock
	wake     time.Time // the stored wake-up, or when it was prolonged last
	deadline time.Time // the first deadline; zero for none
	waits    bool      // its step waits for other steps (see expr.Places)
}

// begin notes that an executor works on a run.
func (b *busy) begin(x *executor, w work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[x] = &w
}

// end notes that an executor waits.
func (b *busy) end(x *executor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, x)
}

// overdue returns the runs of each partition whose wake-ups passed, and notes that they are prolonged now. Runs whose deadline passed are
// omitted: another owner ends what the deadline ends, without the work that takes long.
func (b *busy) overdue(now time.Time) map[*partition][]store.Instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[*partition][]store.Instance{}
	for x, w := range b.of {
		at := x.partition.clock.estimate()
		late := !w.deadline.IsZero() && !at.Before(w.deadline)
		if late || at.Sub(w.wake) < store.HangTolerance/4 || !w.waits && now.Sub(w.since) >= maxBusy {
			continue
		}
		w.wake = at
		all[x.partition] = append(all[x.partition], x.instance)
	}
	return all
}

// works notes that the executor works from now on, if its run can seem to hang.
func (x *executor) works() {
	if x.execution == nil {
		return
	}
	wake, deadline := x.execution.Awaited()
	if wake.IsZero() {
		return
	}
	x.busy = true
	x.partition.w.busy.begin(x, work{since: x.partition.w.c.Now(), wake: wake, deadline: deadline})
}

// rests notes that the executor does not work any more.
func (x *executor) rests() {
	if x.busy {
		x.busy = false
		x.partition.w.busy.end(x)
	}
}

// stepWaits notes that the step of an executor waits for other steps, or has waited.
func (x *executor) stepWaits(is bool) {
	b := &x.partition.w.busy
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.of[x]; w != nil {
		w.waits, w.since = is, x.partition.w.c.Now()
	}
}

// prolongBusy prolongs the runs that are worked on for long, until ctx ends.
func (w *Worker) prolongBusy(ctx context.Context) {
	for sleep(ctx, store.HangTolerance/4) {
		var group sync.WaitGroup
		for p, instances := range w.busy.overdue(w.c.Now()) {
			group.Go(func() { p.prolongBusy(ctx, instances) })
		}
		group.Wait()
	}
}

// prolongBusy gives the executors of runs of the partition more time. If that fails, it is tried again in the next round.
func (p *partition) prolongBusy(ctx context.Context, instances []store.Instance) {
	call, cancel := context.WithTimeout(ctx, p.w.leases.CallTimeout())
	defer cancel()
	promoted, err := p.w.c.Store.Promote(call, store.Promote{Partition: p.n, Instances: instances, Worker: p.w.c.Name, Busy: true})
	if err != nil {
		p.w.c.Log.Warn("runs whose steps take long could not be prolonged; it is tried again", "partition", p.n, "error", err)
		return
	}
	p.clock.update(promoted.At)
}
