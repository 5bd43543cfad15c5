package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// lease is the worker's lease in one partition: what the worker holds there is certainly its own as long as the lease can be
// trusted. When it cannot, because it was not renewed in time, nothing begins; what is in flight goes on for a while, since
// most likely nobody can reach the store.
type lease struct {
	length time.Duration

	mu      sync.Mutex
	asked   time.Time     // when the lease that lasts was asked for, by this process's clock
	settled chan struct{} // closed when the lease is renewed; nil if nobody waits
}

// lostAfter is how long what is held without a lease is kept, in the hope that it can be renewed.
const lostAfter = 10 * time.Second

// until returns until when the lease can be trusted: it counts from when it was asked for, and ends before the store's.
func (l *lease) until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked.Add(l.length - l.length/5)
}

// isTrusted reports whether the lease can be trusted at a time.
func (l *lease) isTrusted(now time.Time) bool { return now.Before(l.until()) }

// isLost reports whether there is no hope any more that it will be renewed before others have taken everything.
func (l *lease) isLost(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !now.Before(l.asked.Add(max(lostAfter, l.length)))
}

// age returns how long ago the lease was asked for.
func (l *lease) age(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.asked)
}

// extend notes that the lease was prolonged by what was sent.
func (l *lease) extend(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.After(l.asked) {
		l.asked = sent
	}
	if l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
}

// renewal returns a channel that is closed when the lease is renewed next.
func (l *lease) renewal() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settled == nil {
		l.settled = make(chan struct{})
	}
	return l.settled
}

// renew prolongs the leases of the partitions in which something is held, until ctx ends.
func (w *Worker) renew(ctx context.Context) {
	for sleep(ctx, w.c.Lease/10) {
		w.prolong(ctx)
	}
}

// reconcile compares what is held with what the store says wherever that may differ, until ctx ends.
func (w *Worker) reconcile(ctx context.Context) {
	for sleep(ctx, w.c.Lease/10) {
		var group sync.WaitGroup
		for _, p := range w.partitions {
			if p.isUnsure() {
				group.Go(func() { p.reconcile(ctx) })
			}
		}
		group.Wait()
	}
}

// prolong renews the leases that it is time for, all of them with one call.
func (w *Worker) prolong(ctx context.Context) {
	request, now := store.Renew{Worker: w.c.Name, Lease: w.c.Lease}, w.c.Now()
	isTime := false
	for n, all := range w.holdings() {
		p := w.partitions[n]
		age := p.lease.age(now)
		isTime = isTime || age > w.c.Lease/3
		if age > w.c.Lease/6 { // one call for them, instead of a second one soon
			request.Partitions = append(request.Partitions, n)
		}
		if p.lease.isLost(now) {
			p.lose(all)
		}
	}
	if !isTime {
		return
	}
	call, cancel := context.WithTimeout(ctx, w.c.Lease/3)
	renewed, err := w.c.Store.Renew(call, request)
	cancel()
	if err != nil {
		w.contact.broke(w.c.Now())
		if ctx.Err() == nil {
			w.c.Log.Warn("renew leases", "partitions", len(request.Partitions), "error", err)
		}
		return // the next round tries again
	}
	w.renewed(now, request.Partitions, renewed)
}

// holdings returns what is held, by partition.
func (w *Worker) holdings() map[int][]*executor {
	all := map[int][]*executor{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.held {
		all[x.partition.n] = append(all[x.partition.n], x)
	}
	return all
}

// renewed records which leases a call that was sent at a time has prolonged.
func (w *Worker) renewed(sent time.Time, asked []int, renewed []store.Renewed) {
	lasting := map[int]bool{}
	for _, r := range renewed {
		p := w.partitions[r.Partition]
		lasting[r.Partition] = true
		p.clock.update(r.At)
		if p.lease.isTrusted(w.c.Now()) {
			p.lease.extend(sent)
		} else {
			p.prolonged(sent)
		}
	}
	for n, all := range w.holdings() {
		for _, x := range all {
			if !lasting[n] && slices.Contains(asked, n) && x.asked.Before(sent) && !x.releasing.Load() {
				x.revoke(execution.ErrLeaseLost)
			}
		}
	}
}

// prolonged notes that the lease was prolonged, by what was sent, after it could not be trusted any more. Others may have taken
// something meanwhile: it is trusted again when that is known.
func (p *partition) prolonged(sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubted, p.late = true, sent
}

// lose lets go of what is held.
func (p *partition) lose(all []*executor) {
	for _, x := range all {
		x.revoke(execution.ErrLeaseLost)
	}
	p.doubt()
}

// doubt has what is held compared with what the store says, soon.
func (p *partition) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubted = true
}

// isUnsure reports whether it is time to compare what is held with what the store says: something may have been claimed
// without an answer, there may be messages that nobody gave a hint of, or somebody else may have taken something. That is
// all written, and needs no look if nothing was.
func (p *partition) isUnsure() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.w.c.Now()
	if p.doubted {
		return true
	}
	return p.lease.isTrusted(now) && now.Sub(p.compared) > p.w.c.Lease && (p.writes != p.comparedAt || p.w.isDraining())
}

// reconcile compares what is held with what the store says.
func (p *partition) reconcile(ctx context.Context) {
	p.claiming.Lock() // what is being claimed is known soon
	defer p.claiming.Unlock()
	p.mu.Lock()
	late := p.late
	p.doubted, p.late, p.compared, p.comparedAt = false, time.Time{}, p.w.c.Now(), p.writes
	p.mu.Unlock()
	held := p.w.holdings()[p.n] // before the store is asked
	call, cancel := context.WithTimeout(ctx, p.w.c.Lease/3)
	defer cancel()
	stored, err := p.w.c.Store.HeldBy(call, p.n, p.w.c.Name)
	if err != nil {
		p.doubt()
		return
	}
	p.forgetFailures(stored)
	if !late.IsZero() {
		p.trust(held, stored, late)
	}
	if err := p.giveUp(call, p.settle(held, stored)); err != nil {
		p.doubt()
	}
}

// trust lets go of what others have taken, and trusts the lease again for the rest.
func (p *partition) trust(held []*executor, stored []store.Held, sent time.Time) {
	is := map[store.Instance]bool{}
	for _, s := range stored {
		is[s.Instance] = true
	}
	for _, x := range held {
		if !is[x.instance] && !x.releasing.Load() {
			x.revoke(execution.ErrLeaseLost)
		}
	}
	p.lease.extend(sent)
}

// settle tells the executors of messages, and of doubts that they hold their instances. It returns what the store says is
// held and nobody here knows of.
func (p *partition) settle(held []*executor, stored []store.Held) (unknown []store.Instance) {
	is := map[store.Instance]bool{}
	for _, s := range stored {
		x := p.w.holder(s.Instance)
		if is[s.Instance] = true; x == nil {
			unknown = append(unknown, s.Instance)
		} else if s.Notice {
			x.mailArrived()
		}
	}
	for _, x := range held {
		if !is[x.instance] && !x.releasing.Load() {
			x.mailArrived() // it looks, and finds out
		}
	}
	return unknown
}

// holder returns the executor of an instance; nil if there is none.
func (w *Worker) holder(i store.Instance) *executor {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[i]
}

// giveUp lets others have what nobody here runs although the store says that this worker holds it: its executor could not go
// on, or the answer to its claim was lost. The first counts as the loss of an owner, and not before a lease would have ended.
func (p *partition) giveUp(ctx context.Context, unknown []store.Instance) error {
	failed := map[bool][]store.Instance{}
	p.mu.Lock()
	for _, i := range unknown {
		since, died := p.failures[i]
		if died && p.w.c.Now().Sub(since) < p.w.c.Lease {
			p.doubted = true
			continue
		}
		failed[died] = append(failed[died], i)
	}
	p.mu.Unlock()
	for died, instances := range failed {
		_, err := p.w.c.Store.Promote(ctx, store.Promote{Partition: p.n, Instances: instances, Worker: p.w.c.Name, Died: died})
		if err != nil {
			return err
		}
		p.mu.Lock()
		for _, i := range instances {
			delete(p.failures, i)
		}
		p.mu.Unlock()
		p.nudge()
	}
	return nil
}

// forgetFailures forgets what could not be run and is not held any more.
func (p *partition) forgetFailures(stored []store.Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.failures, func(i store.Instance, _ time.Time) bool {
		return !slices.ContainsFunc(stored, func(s store.Held) bool { return s.Instance == i })
	})
}

// failedOn notes that an instance could not be run, and is still held.
func (p *partition) failedOn(i store.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures == nil {
		p.failures = map[store.Instance]time.Time{}
	}
	p.failures[i] = p.w.c.Now()
	p.doubted = true
}
