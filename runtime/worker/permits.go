package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// permits are the worker's permits for queues with limits: one for each effect of such a queue in progress, and briefly for runs that it is
// about to claim. A queue without a limit needs no permits.
type permits struct {
	gate   *queue.Gate
	worker string
	now    func() time.Time
	failed func(error)
	freed  chan struct{} // something is to be given back, or may be had

	mu   sync.Mutex
	last int64 // number of a holder
	of   map[string]*queuePermits
}

// queuePermits are the permits of one queue.
type queuePermits struct {
	used    map[string]bool // holders
	free    []freePermit
	waiting map[*partition]bool // with runs that wait for a permit
}

// freePermit is a permit that the worker has, and does not use now.
type freePermit struct {
	holder string
	since  time.Time
	begun  bool // something was performed with it
}

// permit is a permit in use.
type permit struct{ queue, holder string }

const (
	// permitLease is how long the permits of a worker that was lost count: longer than its runs are left to it.
	permitLease = 15 * time.Second
	keepEvery   = permitLease / 3
	// permitIdle is how long the worker has a permit that it does not use.
	permitIdle = 30 * time.Millisecond
	// reserveIdle is the same for a permit that is kept for runs that are about to be claimed.
	reserveIdle = 2 * time.Second
	// waitingEvery is how often those are looked after that wait for a permit which another process may have given back.
	waitingEvery = 250 * time.Millisecond
	// storeWithin is how long a call about permits may take.
	storeWithin = 2 * time.Second
)

func newPermits(g *queue.Gate, c *Config) *permits {
	p := &permits{gate: g, worker: c.Name, now: c.Now, freed: make(chan struct{}, 1), of: map[string]*queuePermits{}, failed: func(err error) {
		c.Log.Warn("permits of task queues could not be taken or given back; it is tried again", "error", err)
	}}
	g.WhenFreed(func(string) { p.signal() })
	return p
}

func (p *permits) signal() {
	select {
	case p.freed <- struct{}{}:
	default: // it is looked after
	}
}

// queue returns the permits of a queue. It is called with the lock held.
func (p *permits) queue(name string) *queuePermits {
	q := p.of[name]
	if q == nil {
		q = &queuePermits{used: map[string]bool{}, waiting: map[*partition]bool{}}
		p.of[name] = q
	}
	return q
}

// begin reports whether something of a queue may begin now, and the permit for it; nil if it needs none. Runs that were claimed for it go
// before others: they have waited.
func (p *permits) begin(ctx context.Context, name string, waited bool) (*permit, bool) {
	rules, err := p.gate.Rules(ctx, name)
	if err != nil || rules.Paused != nil {
		return nil, false
	}
	if !rules.Limited() {
		return nil, true
	}
	p.mu.Lock()
	q := p.queue(name)
	if !waited && len(q.waiting) > 0 {
		p.mu.Unlock()
		return nil, false
	}
	p.mu.Unlock()
	if one := p.use(name, &rules); one != nil {
		return one, true
	}
	if p.take(ctx, name, 1) == 0 {
		return nil, false
	}
	one := p.use(name, &rules)
	return one, one != nil
}

// use returns an unused permit of the worker; nil if there is no unused permit.
func (p *permits) use(name string, rules *queue.Rules) *permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(name)
	at := slices.IndexFunc(q.free, func(f freePermit) bool { return !f.begun || rules.Rate == 0 })
	if at < 0 {
		return nil
	}
	holder := q.free[at].holder
	q.free = slices.Delete(q.free, at, at+1)
	q.used[holder] = true
	return &permit{name, holder}
}

// take obtains more permits of a queue for effects that are about to begin, and returns how many it got.
func (p *permits) take(ctx context.Context, name string, n int) int {
	if err := p.giveBack(ctx, name, 0); err != nil { // expired permits do not count for any worker
		p.failed(err)
	}
	if _, open := p.gate.Open(ctx, name); !open {
		return 0
	}
	p.mu.Lock()
	var holders []string
	for range n {
		p.last++
		holders = append(holders, queue.WorkerHolder(p.worker, p.last))
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	got, err := p.gate.Take(ctx, name, holders, permitLease)
	if err != nil {
		p.failed(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, holder := range got {
		p.queue(name).free = append(p.queue(name).free, freePermit{holder: holder, since: p.now()})
	}
	return len(got)
}

// useAll is use for at most n permits.
func (p *permits) useAll(name string, rules *queue.Rules, n int) (all []*permit) {
	for len(all) < n {
		one := p.use(name, rules)
		if one == nil {
			break
		}
		all = append(all, one)
	}
	return all
}

// reserve returns permits for at most n runs of a partition that wait for a queue. limited is false if they need no permits. If there are
// no permits, the partition is nudged when permits may be available.
func (p *permits) reserve(ctx context.Context, name string, n int, of *partition) (all []*permit, limited bool) {
	rules, err := p.gate.Rules(ctx, name)
	open := err == nil && rules.Paused == nil
	if open && !rules.Limited() {
		return nil, false
	}
	if open {
		if all = p.useAll(name, &rules, n); len(all) < n && p.take(ctx, name, n-len(all)) > 0 {
			all = append(all, p.useAll(name, &rules, n-len(all))...)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(all) == 0 {
		p.queue(name).waiting[of] = true
		p.signal()
	} else {
		delete(p.queue(name).waiting, of)
	}
	return all, true
}

// end takes a permit back from an effect that ended or did not begin.
func (p *permits) end(of *permit, begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(of.queue)
	delete(q.used, of.holder)
	q.free = append(q.free, freePermit{holder: of.holder, since: p.now(), begun: begun})
	p.signal()
}

// run prolongs the permits, returns unused ones, and nudges partitions that wait for permits, until ctx ends.
func (p *permits) run(ctx context.Context) {
	kept := p.now()
	for {
		pause := p.pause()
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.freed:
			timer.Stop()
			sleep(ctx, permitIdle) // an effect that just ended may free a permit for the next effect of the same process
		case <-timer.C:
		}
		for _, name := range p.names() {
			if err := p.giveBack(ctx, name, permitIdle); err != nil && ctx.Err() == nil {
				p.failed(err)
			}
			p.admit(ctx, name)
		}
		if p.now().Sub(kept) >= keepEvery {
			kept = p.now()
			p.keep(ctx)
		}
	}
}

// pause returns how long there is nothing to look after.
func (p *permits) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := time.Hour
	for _, q := range p.of {
		switch {
		case len(q.waiting) > 0:
			return waitingEvery
		case len(q.free) > 0:
			pause = min(pause, permitIdle)
		case len(q.used) > 0:
			pause = min(pause, keepEvery)
		}
	}
	return pause
}

func (p *permits) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.of))
}

// giveBack gives back permits that have not been used for a while.
func (p *permits) giveBack(ctx context.Context, name string, idle time.Duration) error {
	var ended, unbegun []string
	p.mu.Lock()
	now, q := p.now(), p.queue(name)
	q.free = slices.DeleteFunc(q.free, func(f freePermit) bool {
		switch unused := now.Sub(f.since); {
		case f.begun && unused >= idle:
			ended = append(ended, f.holder)
		case !f.begun && unused >= reserveIdle:
			unbegun = append(unbegun, f.holder)
		default:
			return false
		}
		return true
	})
	p.mu.Unlock()
	if len(ended)+len(unbegun) == 0 {
		return nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	err := p.gate.GiveBack(call, name, ended, unbegun)
	if err != nil { // they are retried, and expire anyway
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, holder := range ended {
			q.free = append(q.free, freePermit{holder: holder, since: now, begun: true})
		}
		for _, holder := range unbegun {
			q.free = append(q.free, freePermit{holder: holder, since: now})
		}
	}
	return err
}

// admit takes permits for partitions that wait for them, and nudges as many.
func (p *permits) admit(ctx context.Context, name string) {
	p.mu.Lock()
	waiting := slices.Collect(maps.Keys(p.queue(name).waiting))
	p.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	n := len(waiting)
	rules, err := p.gate.Rules(ctx, name)
	if err != nil || rules.Paused != nil {
		return
	}
	if rules.Limited() {
		n = min(p.unused(name, &rules)+p.take(ctx, name, min(n, claimSize)), n)
	}
	p.mu.Lock()
	for _, one := range waiting[:n] {
		delete(p.queue(name).waiting, one)
	}
	p.mu.Unlock()
	for _, one := range waiting[:n] {
		one.nudge()
	}
}

// unused returns how many permits the worker has and does not use.
func (p *permits) unused(name string, rules *queue.Rules) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.queue(name).free {
		if !f.begun || rules.Rate == 0 {
			n++
		}
	}
	return n
}

// keep prolongs all permits that are used.
func (p *permits) keep(ctx context.Context) {
	for _, name := range p.names() {
		p.mu.Lock()
		holders := slices.Collect(maps.Keys(p.queue(name).used))
		p.mu.Unlock()
		if len(holders) == 0 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, storeWithin)
		if err := p.gate.Keep(call, name, holders, permitLease); err != nil && ctx.Err() == nil {
			p.failed(err)
		}
		cancel()
	}
}

// close gives everything back.
func (p *permits) close(ctx context.Context) {
	for _, name := range p.names() {
		p.mu.Lock()
		for n := range p.queue(name).free {
			p.queue(name).free[n].since = time.Time{}
		}
		p.mu.Unlock()
		_ = p.giveBack(ctx, name, 0) // permits that are not returned expire
	}
}

// ended returns the permits of attempts of activities that ended with a change. If this fails, the next process that wants a permit
// recovers them.
func (w *Worker) ended(ctx context.Context, ids []store.ActivityID, changed []store.ActivityChanged) {
	if err := w.permits.gate.Ended(ctx, ids, changed); err != nil && ctx.Err() == nil {
		w.permits.failed(err)
	}
}
