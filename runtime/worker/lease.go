package worker

import (
	"context"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/store"
)

// leases are the worker's leases, for several goroutines.
type leases struct {
	sync.Mutex
	*lease.Leases[*executor]
	trusted []chan struct{} // closed when the lease of a partition may be trusted again; nil without waiters
}

// changed wakes the waiters for trusted leases. The mutex is held.
func (l *leases) changed(partition int) {
	if waiting := l.trusted[partition]; waiting != nil {
		close(waiting)
		l.trusted[partition] = nil
	}
}

// change returns a channel that is closed when the trust in a lease may have changed. The mutex is held.
func (l *leases) change(partition int) <-chan struct{} {
	if l.trusted[partition] == nil {
		l.trusted[partition] = make(chan struct{})
	}
	return l.trusted[partition]
}

// revokeAll takes runs that are lost from their executors.
func revokeAll(lost []*executor) {
	for _, x := range lost {
		x.revoke(execution.ErrLeaseLost)
	}
}

// renew prolongs the leases of the partitions in which something is held, until ctx ends.
func (w *Worker) renew(ctx context.Context) {
	for sleep(ctx, w.leases.Interval()) {
		w.prolong(ctx)
	}
}

// prolong renews the leases that it is time for, all of them with one call.
func (w *Worker) prolong(ctx context.Context) {
	sent := w.c.Now()
	w.leases.Lock()
	request, lost := w.leases.Renewal(sent)
	w.leases.Unlock()
	revokeAll(lost)
	if len(request.Partitions) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, w.leases.CallTimeout())
	renewed, err := w.c.Store.Renew(call, request)
	cancel()
	if err != nil {
		w.unreachable()
		if ctx.Err() == nil {
			w.c.Log.Warn("leases were not renewed; it is tried again", "partitions", len(request.Partitions), "error", err)
		}
		return // the next round tries again
	}
	w.leases.Lock()
	for _, r := range renewed {
		w.partitions[r.Partition].clock.update(r.At)
	}
	lost = w.leases.Renewed(request, sent, w.c.Now(), renewed)
	for _, p := range request.Partitions {
		w.leases.changed(p)
	}
	w.leases.Unlock()
	revokeAll(lost)
}

// unreachable notes that the store could not be worked with.
func (w *Worker) unreachable() {
	w.leases.Lock()
	defer w.leases.Unlock()
	w.leases.Unreachable(w.c.Now())
}

// compare compares the held runs with the store wherever they may differ, until ctx ends.
func (w *Worker) compare(ctx context.Context) {
	for sleep(ctx, w.leases.Interval()) {
		w.leases.Lock()
		partitions := w.leases.Comparisons(w.c.Now())
		w.leases.Unlock()
		var group sync.WaitGroup
		for _, p := range partitions {
			group.Go(func() { w.partitions[p].compare(ctx) })
		}
		group.Wait()
	}
}

// compare asks the store which runs the worker holds, and applies the answer.
func (p *partition) compare(ctx context.Context) {
	w := p.w
	call, cancel := context.WithTimeout(ctx, w.leases.CallTimeout())
	defer cancel()
	stored, err := w.c.Store.HeldBy(call, p.n, w.c.Name)
	w.leases.Lock()
	if err != nil {
		w.leases.NotCompared(p.n)
		w.leases.Unlock()
		return
	}
	found := w.leases.Compared(p.n, stored, w.c.Now())
	w.leases.changed(p.n)
	w.leases.Unlock()
	revokeAll(found.Lost)
	for _, x := range found.Mail {
		x.mailArrived()
	}
	for _, request := range found.GiveUp {
		request.MaxDeaths = int64(w.c.RecoveryAttempts)
		_, err := w.c.Store.Promote(call, request)
		w.leases.Lock()
		w.leases.GaveUp(request, err == nil)
		w.leases.Unlock()
		p.nudge()
	}
}

// executorOf returns the executor of a run; nil if it is not executed here.
func (w *Worker) executorOf(i store.Instance) *executor {
	w.leases.Lock()
	defer w.leases.Unlock()
	x, _ := w.leases.Run(i.Partition(len(w.partitions)), i)
	return x
}

// promotion returns the Promote request for the findings of a poll.
func (p *partition) promotion(work store.Work) store.Promote {
	p.w.leases.Lock()
	request, lookAgain := p.w.leases.Polled(p.n, work, p.w.c.Now())
	p.w.leases.Unlock()
	if lookAgain > 0 {
		p.expect(work.At.Add(lookAgain + time.Millisecond)) // the store's answer contains no fractions of milliseconds
	}
	request.Instances = p.w.chosen(request.Instances)
	return request
}

// unregister reports that the run is no longer executed here. failed reports that it could not continue.
func (x *executor) unregister(failed bool) {
	w := x.partition.w
	w.leases.Lock()
	defer w.leases.Unlock()
	if failed {
		w.leases.Failed(x.partition.n, x.instance, x, w.c.Now())
	} else {
		w.leases.Ended(x.partition.n, x.instance, x)
	}
}

// releasing reports whether a commit is on its way that gives the run back.
func (x *executor) releasing(is bool) {
	w := x.partition.w
	w.leases.Lock()
	defer w.leases.Unlock()
	w.leases.Releasing(x.partition.n, x.instance, x, is)
}

// trust waits until the lease can be trusted: this process may have stood still, or the store may be out of reach. It reports
// false if the run is lost.
func (x *executor) trust(ctx context.Context) bool {
	p, w := x.partition, x.partition.w
	for {
		w.leases.Lock()
		trust := w.leases.Trust(p.n, w.c.Now())
		var changed <-chan struct{}
		if trust == lease.Unsure {
			changed = w.leases.change(p.n)
		}
		w.leases.Unlock()
		if trust != lease.Unsure {
			return trust == lease.Valid
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.leaving:
		case <-changed:
		}
	}
}

// claimed registers claimed runs, and ends former executors that lost their runs.
func (p *partition) claimed(claim lease.Claim[*executor]) {
	w := p.w
	w.leases.Lock()
	lost := w.leases.Claimed(p.n, claim, w.c.Now())
	w.leases.changed(p.n)
	w.leases.Unlock()
	revokeAll(lost)
}

// claiming returns which runs may be claimed.
func (p *partition) claiming(instances []store.Instance) []store.Instance {
	p.w.leases.Lock()
	defer p.w.leases.Unlock()
	return p.w.leases.Claiming(p.n, instances)
}
