package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Scrubbing finds errors in the indexes of a store. Correctness does not depend on it: a wrong index indicates a bug or a manual change of
// the store.

const (
	// checkPause is the shortest time between two of these pages. It limits the cost for stores with many runs.
	checkPause = 300 * time.Millisecond
	// sweepPause is the shortest time between two pages of runs that are compared one by one.
	sweepPause = 20 * time.Second
)

// RepairSettings specify how much of a store is checked, and how often (promises 119).
type RepairSettings struct {
	CheckInterval time.Duration // of the indexes of all partitions
	SweepInterval time.Duration // of all runs
	ScanLimit     int           // entries or runs at a time
}

// RepairSettings returns the settings of a worker.
func (c Config) RepairSettings() RepairSettings {
	c = c.withDefaults()
	return RepairSettings{c.CheckInterval, c.SweepInterval, c.ScanLimit}
}

// check looks for errors in one partition after the other, and scrubs it. It begins at a random partition, so that short-lived workers
// together check every partition.
func (w *Worker) check(ctx context.Context) {
	accepted := make([]int, len(w.partitions)) // errors that scrubbing could not repair
	pause := w.c.CheckInterval / time.Duration(len(w.partitions))
	for n := rand.IntN(len(w.partitions)); sleep(ctx, pause); n++ {
		p, began := w.partitions[n%len(w.partitions)], w.c.Now()
		if p.drift(ctx, accepted[p.n]) != accepted[p.n] {
			p.scrub(ctx, store.Scrub{}, 0)
			accepted[p.n] = p.drift(ctx, accepted[p.n])
		}
		pause = max(0, w.c.CheckInterval/time.Duration(len(w.partitions))-w.c.Now().Sub(began))
	}
}

// drift returns the number of errors in the indexes, or the expected number if the store does not answer.
func (p *partition) drift(ctx context.Context, expected int) (wrong int) {
	for request := (store.Drift{Partition: p.n, N: p.w.c.ScanLimit}); ; {
		found, err := p.w.c.Store.Drift(ctx, request)
		if err != nil {
			if ctx.Err() == nil {
				p.w.c.Log.Warn("the indexes of a partition could not be checked; it is tried again", "partition", p.n, "error", err)
			}
			return expected
		}
		wrong += found.Wrong
		if request.Compared = found.Compared; request.Compared == 0 {
			p.w.c.Figures.Checked.Add(1)
		}
		if request.Compared == 0 || !sleep(ctx, checkPause) {
			return wrong
		}
	}
}

// sweep compares all runs with the indexes, a few at a time. Where it begins is chance.
func (w *Worker) sweep(ctx context.Context) {
	for n := rand.IntN(len(w.partitions)); sleep(ctx, w.c.SweepInterval/time.Duration(len(w.partitions))); n++ {
		w.partitions[n%len(w.partitions)].scrub(ctx, store.Scrub{}, sweepPause)
	}
}

// adopt accepts that the partition lost writes, unless another worker accepted it before: runs that were claimed since must not be taken
// away.
func (p *partition) adopt(ctx context.Context) {
	p.scrub(ctx, store.Scrub{Adopt: true, Loss: true}, 0)
}

// scrub compares the partition's runs with its indexes, with a time between the pages.
func (p *partition) scrub(ctx context.Context, request store.Scrub, between time.Duration) {
	for request.Partition, request.N = p.n, min(batchSize, p.w.c.ScanLimit); ; {
		done, err := p.w.c.Store.Scrub(ctx, request)
		if err != nil {
			if ctx.Err() == nil {
				p.w.c.Log.Warn("the indexes of a partition could not be compared with its runs; it is tried again", "partition", p.n, "error", err)
			}
			return
		}
		p.w.c.Figures.Compared.Add(int64(done.Compared))
		for _, u := range done.Unreadable {
			p.w.cannotRead(u)
		}
		for _, what := range done.Repaired {
			p.w.c.Log.Error("an index had to be repaired", "partition", p.n, "what", what)
		}
		if request.Cursor = done.Cursor; request.Cursor == "" || !sleep(ctx, between) {
			return
		}
		request.Adopt, request.Loss = done.Adopted, false
	}
}

// sleep waits, and reports false if ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
