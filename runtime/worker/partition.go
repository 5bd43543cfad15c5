package worker

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/store"
)

// partition is a worker's view of one partition. It looks for work there.
type partition struct {
	w          *Worker
	n          int
	clock      *storeClock
	nudged     chan struct{}
	relaying   sync.Mutex
	prolonging sync.Mutex
	starting   sync.Mutex

	mu     sync.Mutex
	next   time.Time               // when something is due, by the store's clock; zero for never
	expiry time.Time               // when the first instance may be removed, the same
	writes int64                   // to the partition when it was polled last; see Written
	ends   time.Time               // when the first lease ends, by the store's clock; zero for never
	rest   bool                    // the last poll found nothing to do
	left   map[store.Instance]bool // runs that other workers may claim first, for a moment
}

const (
	batchSize = 100 // maximum number of items per request to a partition
	claimSize = 32
	// chosenSize is the same for a worker that runs only some runs, since other runs may precede them.
	chosenSize = 10_000
)

// run works on the partition until ctx ends.
func (p *partition) run(ctx context.Context) {
	var failures int
	var aside sync.WaitGroup
	defer aside.Wait()
	for ctx.Err() == nil {
		found, done, err := p.work(ctx, &aside)
		switch {
		case err != nil:
			failures++
			p.failed(ctx, err)
			p.pause(ctx, backoff(failures))
		case found && done == 0: // other workers were faster, or the findings are faulty
			failures++
			p.pause(ctx, p.idle(p.w.c.Now().Add(backoff(failures))))
		case found:
			failures = 0
		default:
			failures = 0
			p.await(ctx)
		}
	}
}

// failed handles an error of the store. If the store has lost writes, the runs that are held cannot be relied on any more.
func (p *partition) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if store.RefusedAs(err) == store.RolledBack {
		p.w.c.Log.Error("the store has lost writes that it had confirmed", "partition", p.n, "error", err)
		p.adopt(ctx)
		return
	}
	p.w.unreachable()
	p.w.c.Log.Warn("a partition could not be worked on; it is tried again", "partition", p.n, "error", err)
}

// backoff returns how long to wait after some failures in a row.
func backoff(failures int) time.Duration {
	d := min(20*time.Millisecond<<min(failures, 7), 2*time.Second)
	return d/2 + rand.N(d)
}

// pause waits, at most d, until runs may have become ready. It reports false if that is the case or ctx ended.
func (p *partition) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-p.nudged:
		return false
	case <-timer.C:
		return true
	}
}

// restPolls is the factor by which polls are less frequent in a partition without work. Worker.watch asks for the writes to all partitions
// in one call.
const restPolls = 60

// await waits until there may be work. A lease that was about to end may have been renewed in between.
func (p *partition) await(ctx context.Context) {
	poll := p.w.c.Poll
	p.mu.Lock()
	if p.rest {
		poll *= restPolls
	}
	p.mu.Unlock()
	last := p.w.c.Now().Add(poll - rand.N(poll/4))
	for d := p.idle(last); d > 0; d = p.idle(last) {
		if !p.pause(ctx, d) {
			return
		}
	}
}

// idle returns how long there is certainly nothing to do, at most until last.
func (p *partition) idle(last time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := last.Sub(p.w.c.Now())
	for _, at := range []time.Time{p.next, p.expiry, p.ends} {
		if !at.IsZero() {
			d = min(d, p.clock.until(at))
		}
	}
	return d
}

// watched records the writes to the partition, and makes it poll again if there may be work.
func (p *partition) watched(now store.Written) {
	p.clock.update(now.At)
	p.mu.Lock()
	news := now.Writes != p.writes
	if p.ends = now.Lease; !p.ends.IsZero() && !p.ends.After(now.At) {
		p.ends, news = time.Time{}, true // the poll returns its owner
	}
	for _, at := range []time.Time{p.next, p.expiry, p.ends} {
		news = news || !at.IsZero() && p.clock.until(at) <= 0 // the store's clock is ahead of the estimate
	}
	p.mu.Unlock()
	if news {
		p.nudge()
	}
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
	if !at.IsZero() && p.expect(at) {
		p.nudge()
	}
}

// expect notes that there is something to do at a time, and reports whether nothing is expected before.
func (p *partition) expect(at time.Time) (earlier bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier = p.next.IsZero() || at.Before(p.next); earlier {
		p.next = at
	}
	return earlier
}

// work polls once and carries out the work that the poll found. It reports whether there was immediate work, and how many runs it moved.
func (p *partition) work(ctx context.Context, aside *sync.WaitGroup) (found bool, done int, err error) {
	from := p.w.c.Store
	n := batchSize
	if p.w.c.Only != nil {
		n = chosenSize
	}
	work, err := from.Poll(ctx, p.n, n, p.w.c.Retention > 0)
	if err != nil {
		return false, 0, err
	}
	p.clock.update(work.At)
	p.polled(work)
	if len(work.Outbox) > 0 && p.relaying.TryLock() {
		aside.Go(func() {
			delivered := p.relay(ctx, work.Outbox)
			if p.relaying.Unlock(); delivered {
				p.nudge() // there may be more by now
			}
		})
	}
	due, ready, err := p.promote(ctx, work)
	if err != nil {
		return false, 0, err
	}
	ended, err := p.expireActivities(ctx, work.Activities)
	if err != nil {
		return false, 0, err
	}
	needing, err := p.needing(ctx, work.Needs)
	if err != nil {
		return false, 0, err
	}
	news := p.w.chosen(work.New)
	needing.runs = store.Fairly(len(needing.runs)+len(news), [][]store.Instance{needing.runs, news})
	p.begin(ctx, needing, aside)
	begun := slices.Concat(due, p.notLeft(p.w.chosen(work.Begun)))
	taken, err := p.claim(ctx, p.w.begun, claimable{runs: begun})
	return len(begun)+len(work.Activities) > 0, ready + taken + ended, errors.Join(err, p.expire(ctx, work))
}

// promote makes due runs ready, and runs of other workers whose leases expired. It returns these runs, and how many of them became ready.
func (p *partition) promote(ctx context.Context, work store.Work) (due []store.Instance, ready int, err error) {
	request := p.promotion(work)
	if len(request.Instances)+len(request.Gone) == 0 {
		return nil, 0, nil
	}
	request.MaxDeaths, request.Unreadable = int64(p.w.c.RecoveryAttempts), p.w.cannotRead
	promoted, err := p.w.c.Store.Promote(ctx, request)
	p.clock.update(promoted.At)
	return request.Instances, promoted.Ready, err
}

// leaveFor is how long a run is left to other workers. They immediately get a hint that it is ready.
const leaveFor = 200 * time.Millisecond

// leave leaves a run to other workers for a moment.
func (p *partition) leave(i store.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == nil {
		p.left = map[store.Instance]bool{}
	}
	p.left[i] = true
	time.AfterFunc(leaveFor, func() {
		p.mu.Lock()
		delete(p.left, i)
		p.mu.Unlock()
		p.nudge()
	})
}

func (p *partition) notLeft(all []store.Instance) []store.Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(i store.Instance) bool { return p.left[i] })
}

// begin claims runs that are new, or wait for something that the worker has, beside the rest of the work: they may have to wait for a slot.
func (p *partition) begin(ctx context.Context, c claimable, aside *sync.WaitGroup) {
	if len(c.runs) == 0 || !p.starting.TryLock() {
		p.w.dropped(&c)
		return
	}
	aside.Go(func() {
		if p.w.shares.reserve(&c) {
			time.AfterFunc(leaveFor, p.nudge) // there may be room by then
		}
		taken, err := p.claim(ctx, p.w.slots, c)
		p.w.dropped(&c)
		p.starting.Unlock()
		if err != nil {
			p.failed(ctx, err)
		}
		if taken > 0 { // there may be more; runs that cannot be claimed wait for the next poll
			p.nudge()
		}
	})
}

// chosen returns the runs that the worker runs.
func (w *Worker) chosen(all []store.Instance) []store.Instance {
	if w.c.Only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(i store.Instance) bool { return !w.c.Only(i) })
}

// polled records the findings of a poll.
func (p *partition) polled(work store.Work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.writes, p.expiry, p.ends = work.Next, work.Writes, time.Time{}, work.Lease
	if !p.next.After(work.At) { // it is more than a poll returns
		p.next = time.Time{}
	}
	p.rest = len(work.Begun)+len(work.New)+len(work.Due)+len(work.Ended)+len(work.Outbox) == 0 && !slices.ContainsFunc(work.Needs, namesSecret)
	if keep := p.w.c.Retention; keep > 0 && len(work.Expired) > 0 {
		p.expiry = work.Closed.Add(keep)
	}
}

// expire removes runs that ended long enough ago.
func (p *partition) expire(ctx context.Context, work store.Work) error {
	keep := p.w.c.Retention
	if keep == 0 || len(work.Expired) == 0 || work.At.Sub(work.Closed) < keep {
		return nil
	}
	removed, err := p.w.c.Store.Remove(ctx, store.Remove{Partition: p.n, Instances: work.Expired, Age: keep})
	p.mu.Lock()
	p.expiry = time.Time{} // the next poll finds it; runs that cannot be removed are not retried repeatedly
	p.mu.Unlock()
	if removed > 0 {
		p.nudge()
	}
	return err
}

// claim takes runs as far as the limiter has slots for them, and returns how many it got.
func (p *partition) claim(ctx context.Context, l *limiter, c claimable) (taken int, err error) {
	for ready := c.runs; len(ready) > 0; {
		n := l.acquire(ctx, min(len(ready), claimSize))
		if n == 0 {
			return taken, nil
		}
		some := ready[:n]
		ready = ready[n:]
		got, err := p.take(ctx, l, some, &c)
		l.release(n - got)
		if taken += got; err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// take claims runs and executes the claimed ones. It returns their number.
func (p *partition) take(ctx context.Context, l *limiter, some []store.Instance, of *claimable) (taken int, err error) {
	claim := lease.Claim[*executor]{Asked: p.claiming(some), Sent: p.w.c.Now(), Got: map[store.Instance]*executor{}}
	// The answer is awaited also while the worker stops, so that claimed runs can be handed over.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.w.leases.CallTimeout())
	defer cancel()
	claimed, err := p.w.c.Store.Claim(call, store.Claim{
		Partition: p.n, Instances: claim.Asked, Worker: p.w.c.Name, Nonce: p.w.c.Nonce(), Lease: p.w.c.Lease, Has: of.has,
		Unreadable: p.w.cannotRead,
	})
	if claim.Answered = err == nil; !claim.Answered {
		p.claimed(claim)
		return 0, err
	}
	var executions []func()
	for n := range claimed {
		c := &claimed[n]
		p.clock.update(c.At)
		x, execute := p.newExecutor(ctx, c, l)
		x.waited, x.reserved = len(of.has) > 0 && c.Token.Epoch > 1, of.permits[c.Instance]
		delete(of.permits, c.Instance)
		x.takeShare(of)
		claim.Got[c.Instance], executions = x, append(executions, execute)
	}
	p.claimed(claim)
	for _, execute := range executions {
		p.w.executors.Go(func() {
			p.w.held.Add(1)
			defer p.w.held.Add(-1)
			execute()
		})
	}
	return len(claimed), nil
}
