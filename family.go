package swrun

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// family is some runs and all that they have started, and what those have started.
type family struct {
	store store.Store
	roots []store.Instance

	mu      sync.Mutex
	members map[store.Instance]bool // what was found out
}

func newFamily(s store.Store, roots []*Run) *family {
	f := &family{store: s, members: map[store.Instance]bool{}}
	for _, root := range roots {
		f.roots = append(f.roots, root.Instance)
		f.members[root.Instance] = true
	}
	return f
}

// has reports whether a run belongs to the family. As long as the store does not answer, it does not.
func (f *family) has(ctx context.Context, i store.Instance) bool {
	f.mu.Lock()
	member, known := f.members[i]
	f.mu.Unlock()
	if known || !slices.ContainsFunc(f.roots, func(root store.Instance) bool { return execution.MayStemFrom(i, root) }) {
		return member
	}
	l, err := f.store.Load(ctx, i)
	if err != nil {
		return false
	}
	invocation, err := execution.ParseInvocation(l.Invocation)
	if err != nil {
		return false
	}
	if starter, ok := invocation.Starter(); ok {
		member = f.has(ctx, starter)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[i] = member
	return member
}

// hasMessage reports whether a run of the family has a message to read.
func (f *family) hasMessage(ctx context.Context, i store.Instance) bool {
	if !f.has(ctx, i) {
		return false
	}
	l, err := f.store.Load(ctx, i)
	return err == nil && l.Lifecycle.Mail > l.Lifecycle.Read
}

// settleEvery is how often Settle looks, and settleRounds how often in vain.
const (
	settleEvery  = 10 * time.Millisecond
	settleRounds = 100
)

// Settle ends runs that were cancelled or terminated, and those that they end with them, in this process: a file has no other worker
// that could. It takes no other run, and performs nothing.
func (e *Engine) Settle(ctx context.Context, runs ...*Run) error {
	if err := e.store.takeOver(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f, c := newFamily(e.store, runs), e.workerConfig()
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

// settled waits until the runs have ended, as long as one after the other does.
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

// quiet reports whether nothing is on its way from one run to another.
func (f *family) quiet(ctx context.Context) bool {
	for p := range f.store.Layout().Partitions {
		if work, err := f.store.Poll(ctx, p, 1, false); err != nil || len(work.Outbox)+len(work.Begun) > 0 {
			return false
		}
	}
	return true
}
