package runtime

import (
	"context"
	"math/rand/v2"
	"time"
)

// This file finds what is wrong in the indexes of a store. Nothing relies on it: a wrong index is the sign of a bug or of
// a hand that has changed the store.

const (
	// checkEvery is how often the instances and entries of each partition are counted: that costs little, and shows an
	// entry that is lost or stands twice.
	checkEvery = 30 * time.Second
	// pageEvery is the least time between two pages of instances that are compared one by one, so that many instances do
	// not make an idle worker busy.
	pageEvery = 5 * time.Second
)

// check counts the instances and entries of one partition after the other, and scrubs those in which they differ. Where
// it begins is chance: workers that do not live long have checked every partition together.
func (w *Worker) check(ctx context.Context) {
	accepted := make([]int64, len(w.partitions)) // what scrubbing could not repair
	for n := rand.IntN(len(w.partitions)); sleep(ctx, checkEvery/time.Duration(len(w.partitions))); n++ {
		p := w.partitions[n%len(w.partitions)]
		if p.drift(ctx, accepted[p.n]) == accepted[p.n] {
			continue
		}
		p.scrub(ctx, Scrub{}, 0)
		accepted[p.n] = p.drift(ctx, accepted[p.n])
	}
}

// drift returns by how much instances and entries differ, and asks again if that is not what was expected: something may
// have been written meanwhile.
func (p *partition) drift(ctx context.Context, expected int64) (drift int64) {
	for range 2 {
		var err error
		if drift, err = p.w.c.Store.Drift(ctx, p.n); err != nil {
			if ctx.Err() == nil {
				p.w.c.Log.Warn("count a partition", "partition", p.n, "error", err)
			}
			return expected
		}
		if drift == expected {
			break
		}
	}
	return drift
}

// sweep compares all instances with the indexes, a few at a time. Where it begins is chance.
func (w *Worker) sweep(ctx context.Context) {
	for n := rand.IntN(len(w.partitions)); sleep(ctx, w.c.Scrubbing/time.Duration(len(w.partitions))); n++ {
		w.partitions[n%len(w.partitions)].scrub(ctx, Scrub{}, pageEvery)
	}
}

// adopt accepts that the partition has lost writes, unless somebody else has: what was claimed since is not to be taken
// away.
func (p *partition) adopt(ctx context.Context) {
	p.scrub(ctx, Scrub{Adopt: true, Loss: true}, 0)
}

// scrub compares the partition's instances with its indexes, with a time between the pages.
func (p *partition) scrub(ctx context.Context, request Scrub, between time.Duration) {
	for request.Partition, request.N = p.n, batchSize; ; {
		done, err := p.w.c.Store.Scrub(ctx, request)
		if err != nil {
			if ctx.Err() == nil {
				p.w.c.Log.Warn("scrub a partition", "partition", p.n, "error", err)
			}
			return
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

// sleep waits, and reports false if ctx has ended.
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
