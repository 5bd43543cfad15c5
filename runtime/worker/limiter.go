package worker

import (
	"context"
	"sync/atomic"
	"time"
)

// limiter bounds how many runs are held at a time.
type limiter struct {
	slots   chan struct{}
	turn    chan struct{} // to acquire several
	waiting atomic.Int64  // executors that wait for a slot
}

func newLimiter(n int) *limiter {
	return &limiter{slots: make(chan struct{}, n), turn: make(chan struct{}, 1)}
}

const (
	// acquireWithin is how long a partition waits for a slot before it looks again.
	acquireWithin = 250 * time.Millisecond
	// gatherWithin is how long it then waits for more of them: claiming several runs in one call costs less.
	gatherWithin = 3 * time.Millisecond
	// gatherAtMost is how many free slots are worth waiting for.
	gatherAtMost = 12
)

// acquire returns how many slots, at most n, are free now. Without free slots it waits a moment.
func (l *limiter) acquire(ctx context.Context, n int) int {
	select {
	case l.turn <- struct{}{}: // one partition at a time, so that slots are not handed out one by one
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0
	}
	got := 0
	for got < n && l.tryAcquire() {
		got++
	}
	wait := acquireWithin
	if got > 0 {
		wait = gatherWithin
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for got < min(n, gatherAtMost) {
		select {
		case l.slots <- struct{}{}:
			if got++; got == 1 {
				timer.Reset(gatherWithin)
			}
		case <-timer.C:
			return got
		case <-ctx.Done():
			return got
		}
	}
	return got
}

// tryAcquire takes a slot if one is free now.
func (l *limiter) tryAcquire() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l *limiter) release(n int) {
	for range n {
		<-l.slots
	}
}
