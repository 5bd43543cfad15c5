package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// countdown counts the runs that a worker ends, so that a measurement sends no requests to the store.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) observe(_ store.Instance, records []interpreter.HistoryEvent) {
	switch records[len(records)-1].Type {
	case interpreter.WorkflowCompleted, interpreter.WorkflowFaulted, interpreter.WorkflowCancelled:
		if c.left.Add(-1) == 0 {
			close(c.done)
		}
	}
}

func (c *countdown) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s left after %s: does another bench work there?", terminal.Counted(c.left.Load(), "unfinished run"), limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// closed waits until n more runs than before are over, as long as some end within limit.
func (b *benchmark) closed(ctx context.Context, before int64, n int, limit time.Duration) error {
	return b.progress(ctx, n, limit, func() (left int64, err error) {
		count, err := b.count(ctx)
		return before + int64(n) - count, err
	})
}

// progress waits until none of n runs are left, as long as their number changes within limit. For many runs it asks less often, because requests are
// work for the store.
func (b *benchmark) progress(ctx context.Context, n int, limit time.Duration, left func() (int64, error)) error {
	pause := min(max(20*time.Millisecond, time.Duration(n)*10*time.Microsecond), time.Second)
	last, changed := int64(-1), time.Now()
	for {
		now, err := left()
		if err != nil || now <= 0 {
			return err
		}
		if now != last {
			last, changed = now, time.Now()
		}
		if time.Since(changed) > limit {
			return fmt.Errorf("%d of %s are left, and none was done within %s", now, terminal.Counted(n, "run"), limit)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

func (b *benchmark) count(ctx context.Context) (closed int64, err error) {
	for p := range b.Store.Layout().Partitions {
		st, err := b.Store.Statistics(ctx, p)
		if err != nil {
			return 0, err
		}
		closed += st.Closed
	}
	return closed, nil
}
