package runtime

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// partition is a worker's view of one partition: it looks for what there is to do.
type partition struct {
	w        *Worker
	n        int
	clock    *storeClock
	nudged   chan struct{}
	relaying sync.Mutex

	mu   sync.Mutex
	next time.Time // when something is due, by the store's clock; zero for never
}

const (
	batchSize = 100 // of what a partition is asked for at a time
	claimSize = 32
	// claimTogether is how many free slots are worth waiting for.
	claimTogether = 12
)

// run works on the partition until ctx ends.
func (p *partition) run(ctx context.Context) {
	var failures int
	var relays sync.WaitGroup
	defer relays.Wait()
	for ctx.Err() == nil {
		more, err := p.work(ctx, &relays)
		switch {
		case err != nil && ctx.Err() == nil:
			failures++
			p.w.c.Log.Warn("work on a partition", "partition", p.n, "error", err)
			p.refused(ctx, err)
			p.pause(ctx, backoff(failures))
		case !more:
			failures = 0
			p.pause(ctx, p.idle())
		}
	}
}

// refused takes in that the store has lost writes: nothing that is held counts any more.
func (p *partition) refused(ctx context.Context, err error) {
	if RefusedAs(err) == RolledBack {
		p.w.c.Log.Error("the store has lost writes that it had confirmed", "partition", p.n, "error", err)
		p.scrub(ctx, true)
	}
}

// backoff returns how long to wait after some failures in a row.
func backoff(failures int) time.Duration {
	d := min(20*time.Millisecond<<min(failures, 7), 2*time.Second)
	return d/2 + rand.N(d)
}

// pause waits, at most d, until something may have become ready.
func (p *partition) pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-p.nudged:
	}
}

// idle returns how long nothing is to be expected.
func (p *partition) idle() time.Duration {
	d := p.w.c.Poll - rand.N(p.w.c.Poll/4)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.next.IsZero() {
		d = min(d, p.clock.until(p.next))
	}
	return d
}

// nudge makes the partition look again.
func (p *partition) nudge() {
	select {
	case p.nudged <- struct{}{}:
	default: // it will
	}
}

// due makes the partition look again at a time, by the store's clock.
func (p *partition) due(at time.Time) {
	if at.IsZero() {
		return
	}
	p.mu.Lock()
	earlier := p.next.IsZero() || at.Before(p.next)
	if earlier {
		p.next = at
	}
	p.mu.Unlock()
	if earlier {
		p.nudge()
	}
}

// work does what there is to do, and reports whether there may be more.
func (p *partition) work(ctx context.Context, relays *sync.WaitGroup) (more bool, err error) {
	store := p.w.c.Store
	work, err := store.Poll(ctx, p.n, batchSize, p.w.c.Retention > 0)
	if err != nil {
		return false, err
	}
	p.clock.hear(work.At)
	p.expect(work.Next)
	if len(work.Outbox) > 0 && p.relaying.TryLock() {
		relays.Go(func() {
			defer p.relaying.Unlock()
			p.relay(ctx, work.Outbox)
		})
	}
	if len(work.Due) > 0 {
		promoted, err := store.Promote(ctx, Promote{Partition: p.n, Instances: work.Due})
		if err != nil {
			return false, err
		}
		p.clock.hear(promoted.At)
		p.expect(promoted.Next)
	}
	if err := p.expire(ctx, work); err != nil {
		return false, err
	}
	ready := p.w.chosen(append(work.Due, work.Ready...))
	if len(ready) == 0 {
		return false, nil
	}
	return true, p.claim(ctx, ready)
}

// chosen returns the instances that the worker runs.
func (w *Worker) chosen(all []Instance) []Instance {
	if w.c.Only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(i Instance) bool { return !w.c.Only(i) })
}

func (p *partition) expect(next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = next
}

// expire removes instances that have ended long enough ago.
func (p *partition) expire(ctx context.Context, work Work) error {
	keep := p.w.c.Retention
	if keep == 0 || len(work.Expired) == 0 || work.At.Sub(work.Closed) < keep {
		return nil
	}
	removed, err := p.w.c.Store.Remove(ctx, Remove{Partition: p.n, Instances: work.Expired, Age: keep})
	if removed == batchSize {
		p.nudge()
	}
	return err
}

// claim takes instances as far as there are slots for them, and looks again if none becomes free for a while.
func (p *partition) claim(ctx context.Context, ready []Instance) error {
	for len(ready) > 0 {
		n := p.w.acquire(ctx, min(len(ready), claimSize))
		if n == 0 {
			return nil
		}
		some := ready[:n]
		ready = ready[n:]
		sent := p.w.c.Now()
		claimed, err := p.w.c.Store.Claim(ctx, Claim{Partition: p.n, Instances: some, Nonce: p.w.c.Nonce(), Lease: p.w.c.Lease})
		p.w.release(n - len(claimed))
		if err != nil {
			return err
		}
		for _, c := range claimed {
			p.clock.hear(c.At)
			p.w.sessions.Go(func() {
				defer p.w.release(1)
				p.hold(c, sent)
			})
		}
	}
	return nil
}

const (
	patience = 250 * time.Millisecond // how long a partition waits for a slot before it looks again at what is due
	together = 3 * time.Millisecond   // how long it then waits for more of them: what is claimed together costs less
)

// acquire returns how many slots, at most n, are free now. If there are none it waits a moment.
func (w *Worker) acquire(ctx context.Context, n int) int {
	select {
	case w.turn <- struct{}{}: // one partition at a time, so that slots are not handed out one by one
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return 0
	}
	got := 0
	for ; got < n; got++ {
		select {
		case w.slots <- struct{}{}:
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
		case w.slots <- struct{}{}:
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

func (w *Worker) release(n int) {
	for range n {
		<-w.slots
	}
}

// scrub compares the partition's instances with its indexes.
func (p *partition) scrub(ctx context.Context, adopt bool) {
	for cursor := ""; ; {
		done, err := p.w.c.Store.Scrub(ctx, Scrub{Partition: p.n, Cursor: cursor, N: batchSize, Adopt: adopt})
		if err != nil {
			p.w.c.Log.Warn("scrub a partition", "partition", p.n, "error", err)
			return
		}
		for _, what := range done.Repaired {
			p.w.c.Log.Error("an index had to be repaired", "partition", p.n, "what", what)
		}
		if cursor = done.Cursor; cursor == "" {
			return
		}
	}
}
