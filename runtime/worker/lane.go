package worker

import (
	"context"
	"time"
)

// lane bounds how many instances are taken at a time.
type lane struct {
	places chan struct{}
	turn   chan struct{} // to acquire places
}

func newLane(n int) *lane {
	return &lane{places: make(chan struct{}, n), turn: make(chan struct{}, 1)}
}

const (
	patience = 250 * time.Millisecond // how long a partition waits for a place before it looks again
	together = 3 * time.Millisecond   // how long it then waits for more of them: what is claimed together costs less
	// claimTogether is how many free places are worth waiting for.
	claimTogether = 12
)

// acquire returns how many places, at most n, are free now. If there are none it waits a moment.
func (l *lane) acquire(ctx context.Context, n int) int {
	select {
	case l.turn <- struct{}{}: // one partition at a time, so that places are not handed out one by one
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0
	}
	got := 0
	for ; got < n; got++ {
		select {
		case l.places <- struct{}{}:
			continue
		default:
		}
		break
	}
	wait := patience
	if got > 0 {
		wait = together
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for got < min(n, claimTogether) {
		select {
		case l.places <- struct{}{}:
			if got++; got == 1 {
				timer.Reset(together)
			}
		case <-timer.C:
			return got
		case <-ctx.Done():
			return got
		}
	}
	return got
}

func (l *lane) release(n int) {
	for range n {
		<-l.places
	}
}
