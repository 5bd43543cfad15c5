package swrun

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// hasMessage reports whether a run of the family has a message to read.
func (f *family) hasMessage(ctx context.Context, i store.Instance) bool {
	if !f.has(ctx, i) {
		return false
	}
	l, err := f.store.Load(ctx, i)
	return err == nil && l.Lifecycle.Mail > l.Lifecycle.Read
}

// Settle looks at its runs every settleEvery, and ends after settleRounds looks without a change.
const (
	settleEvery  = 10 * time.Millisecond
	settleRounds = 100
)

// Settle carries out the commands Cancel and Terminate that were given to some runs, and to the runs that those started. It is for a store without
// workers, such as a file: the runs are ended when it returns. It works on no other run, and starts no task. It returns after about a second in which
// no run ended.
func (e *Engine) Settle(ctx context.Context, runs ...*Run) error {
	release, err := e.store.takeOver(ctx, e.env.host.Log)
	if err != nil {
		return err
	}
	defer release()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f, c := newFamily(e.store, runs), e.workerConfig()
	c.About.Runs = f.roots
	c.Only = func(i store.Instance) bool { return f.hasMessage(ctx, i) }
	c.Concurrency, c.Drain = -1, 2*time.Second
	var working sync.WaitGroup
	working.Go(func() { worker.New(c).Run(ctx) })
	f.settled(ctx)
	stop()
	working.Wait()
	select {
	case err := <-e.store.failed:
		return err
	default:
		return nil
	}
}

// settled waits until the runs are ended, as long as it sees progress.
func (f *family) settled(ctx context.Context) {
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	left := slices.Clone(f.roots)
	for rounds := 0; rounds < settleRounds; rounds++ {
		before := len(left)
		left = slices.DeleteFunc(left, func(i store.Instance) bool {
			l, err := f.store.Load(ctx, i)
			return err != nil || l.Lifecycle.Status.Final()
		})
		if len(left) == 0 && f.quiet(ctx) {
			return
		}
		if len(left) < before {
			rounds = 0
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// quiet reports whether no message is on its way from one run to another.
func (f *family) quiet(ctx context.Context) bool {
	for p := range f.store.Layout().Partitions {
		if work, err := f.store.Poll(ctx, p, 1, false); err != nil || len(work.Outbox)+len(work.Begun) > 0 {
			return false
		}
	}
	return true
}
