// Package worker runs the runs of a store: it polls partitions, claims ready runs, drives an execution.Execution for each claimed run,
// performs its effects, and relays its outgoing entries. The commands that host workflows use it. The execution, not the worker, decides
// how a run continues.
package worker

import (
	"cmp"
	"context"
	crypto "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/effect"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// The defaults of Config.
const (
	DefaultConcurrency = 1000
	DefaultLease       = 3 * time.Second
	DefaultDrain       = 30 * time.Second
	DefaultParkAfter   = time.Second
	// An index is checked often enough that an error is repaired within a minute, at low cost.
	DefaultCheckInterval = 40 * time.Second
	DefaultSweepInterval = 10 * time.Minute
	// Number of entries that are compared with their runs at a time, which takes the store a millisecond or two.
	DefaultScanLimit = 1000
)

// Config configures a worker. Store and Compile are required; the rest has defaults.
type Config struct {
	Store   store.Store
	Compile definition.Compile

	Concurrency int // runs that perform something at a time; default DefaultConcurrency; negative for none at all
	// NamespaceConcurrency is how many runs of one namespace perform something at a time; default 0 is any number.
	NamespaceConcurrency int
	Name                 string        // of letters and digits; no other worker, nor another life of this one, has it; default random
	Lease                time.Duration // how long the work of a worker that has died lies idle; default DefaultLease
	Poll                 time.Duration // how long a change without a hint may go unnoticed; default 1 s
	ParkAfter            time.Duration // shorter waits stay in memory; default DefaultParkAfter
	CheckpointAfter      time.Duration // default 50 ms: effects that take longer are stored as being in flight
	Drain                time.Duration // for effects in flight when the worker stops; default DefaultDrain
	Retention            time.Duration // of runs that ended; default 0 keeps them
	// RecoveryAttempts is how many owners may be lost at one step of a run before it is quarantined; default store.DefaultMaxDeaths.
	RecoveryAttempts int
	CheckInterval    time.Duration // how often the indexes of each partition are checked; default DefaultCheckInterval
	SweepInterval    time.Duration // how often every run is compared with the indexes; default DefaultSweepInterval
	ScanLimit        int           // how many entries or runs are compared at a time; default DefaultScanLimit
	Limits           limits.Set    // limits of a history and a state; the limits of tasks are part of Compile
	Memory           int64         // bytes that everything effects read, and its values, may take; default 1 GiB

	// About is the worker's announcement of itself; its name, concurrency and load are added.
	About presence.Worker
	// Selective leaves effects with needs that About does not grant to other workers; otherwise all are performed.
	Selective bool
	// Gate is asked before something of a task queue begins; default one of its own.
	Gate *queue.Gate
	// Only chooses the runs that this worker runs; nil chooses all.
	Only func(store.Instance) bool
	// Changed is called when there may be something new in a partition: in a queue, or in any if the name is empty. It must not block.
	Changed func(queue string, partition int)
	// Watched is called about once a second with the partitions that were written to since the last time. It must not block.
	Watched func(written []int)
	// Publish sends an emitted event to the listeners. Nil drops events: there are no listeners.
	Publish func(context.Context, Emitted) error
	// Observe is called with the history events of each commit of a run, in order, once they are stored.
	Observe func(store.Instance, []interpreter.HistoryEvent)
	// Trace receives the same events, with the invocation of the run. With it, calls carry the span of their task; nil disables tracing.
	Trace   func(store.Instance, *execution.Invocation, []interpreter.HistoryEvent)
	Figures *Figures         // that the worker counts; default its own
	Log     *slog.Logger     // default discards
	Now     func() time.Time // default time.Now; only differences of it count
	Nonce   func() string    // default random
}

// Worker runs the runs of a store. Any number of workers may share a store, and each may end at any moment.
type Worker struct {
	c          Config
	relay      Relay
	programs   *definition.Programs
	partitions []*partition
	memory     *effect.Memory
	slots      *limiter // for runs that are new or perform something
	begun      *limiter // for begun runs: their deadlines do not wait for a slot
	waiting    *limiter // for runs that wait for messages from others
	shares     shares   // of namespaces in the slots
	executors  sync.WaitGroup
	detached   sync.WaitGroup // effects without a waiting run
	attempts   attempts
	lingers    lingerPolicy
	permits    *permits
	draining   chan struct{} // closed when nothing new is started
	leaving    chan struct{} // closed when effects in flight are given up

	leases        leases
	busy          busy
	held          atomic.Int64 // runs in memory
	unreadable    unreadable[store.Instance]
	undeliverable unreadable[string] // entries of outboxes
	about         presence.Worker
	// takesDefault reports that it performs tasks of the default queue too.
	takesDefault bool
}

// maxBegun limits the memory for begun runs that wait for a slot, and maxWaiting the memory for runs that wait for messages. The latter
// have places of their own, so that long waits do not take the places of due runs.
const (
	maxBegun   = 10_000
	maxWaiting = 10_000
)

// errShutdown cancels detached effects when a worker stops.
var errShutdown = errors.New("the worker stops")

// withDefaults returns the configuration with every default set.
func (c Config) withDefaults() Config {
	standard := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	standard(&c.Lease, DefaultLease)
	standard(&c.Poll, time.Second)
	standard(&c.ParkAfter, DefaultParkAfter)
	standard(&c.CheckpointAfter, 50*time.Millisecond)
	standard(&c.Drain, DefaultDrain)
	standard(&c.CheckInterval, DefaultCheckInterval)
	standard(&c.SweepInterval, DefaultSweepInterval)
	c.RecoveryAttempts, c.ScanLimit = cmp.Or(c.RecoveryAttempts, store.DefaultMaxDeaths), cmp.Or(c.ScanLimit, DefaultScanLimit)
	if c.Memory == 0 {
		c.Memory = effect.DefaultMemory
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.Figures == nil {
		c.Figures = NewFigures()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Nonce == nil {
		c.Nonce = func() string { return crypto.Text()[:16] }
	}
	if c.Name == "" {
		c.Name = c.Nonce()
	}
	if c.Gate == nil {
		c.Gate = queue.NewGate(c.Store, c.Now)
	}
	return c
}

// New returns a worker that does nothing before Run.
func New(c Config) *Worker {
	c = c.withDefaults()
	w := &Worker{
		c: c, relay: Relay{Store: c.Store, Publish: c.Publish, Limits: c.Limits, Settings: settings.NewCache(c.Store, c.Now), Log: c.Log},
		programs: definition.NewPrograms(c.Store, c.Compile),
		memory:   effect.NewMemory(c.Memory),
		slots:    newLimiter(max(c.Concurrency, 0)), begun: newLimiter(maxBegun),
		waiting: newLimiter(maxWaiting), shares: shares{each: c.NamespaceConcurrency},
		draining: make(chan struct{}), leaving: make(chan struct{}),
		about: c.about(), permits: newPermits(c.Gate, &c), busy: busy{of: map[*executor]*work{}},
	}
	w.takesDefault = w.has(store.NewNeed(interpreter.NeedQueue(dsl.DefaultQueue)))
	n := c.Store.Layout().Partitions
	w.lingers.begun = w.begun
	w.leases.Leases = lease.New[*executor](lease.Config{Worker: c.Name, Length: c.Lease, Poll: c.Poll}, n)
	w.leases.trusted = make([]chan struct{}, n)
	for n := range n {
		w.partitions = append(w.partitions, &partition{w: w, n: n, clock: &storeClock{now: c.Now}, nudged: make(chan struct{}, 1)})
	}
	return w
}

// Name returns the name under which the worker holds runs.
func (w *Worker) Name() string { return w.c.Name }

// Run works until ctx ends, and then hands over its runs: idle runs immediately, the others when their effects ended or the Drain time is
// over. Errors in the meantime are logged, and the work is retried.
func (w *Worker) Run(ctx context.Context) {
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var loops, renewals sync.WaitGroup
	hints := w.c.Store.Hints(ctx) // before the first poll, so that little happens between the two without notice
	for _, p := range w.partitions {
		loops.Go(func() { p.run(ctx) })
	}
	loops.Go(func() { w.listen(hints) })
	loops.Go(func() { w.watch(ctx) })
	loops.Go(func() { w.check(ctx) })
	loops.Go(func() { w.sweep(ctx) })
	renewals.Go(func() { w.announce(background) })
	renewals.Go(func() { w.renew(background) }) // also while draining
	renewals.Go(func() { w.compare(background) })
	renewals.Go(func() { w.prolongBusy(background) })
	renewals.Go(func() { w.permits.run(background) })
	<-ctx.Done()
	loops.Wait()
	w.drain()
	end()
	renewals.Wait()
	w.attempts.cancel(errShutdown) // detached effects
	w.detached.Wait()
	w.permits.close(context.WithoutCancel(ctx))
	w.forgetLeases(context.WithoutCancel(ctx))
}

// forgetLeases deletes the leases of a worker that handed over everything, so that other workers do not wait for their expiry. If that
// fails, other workers delete them.
func (w *Worker) forgetLeases(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.c.Lease/3)
	defer cancel()
	w.leases.Lock()
	partitions := w.leases.Leased()
	w.leases.Unlock()
	for _, n := range partitions {
		_, err := w.c.Store.Promote(ctx, store.Promote{Partition: n, Worker: w.c.Name, Gone: []string{w.c.Name}, MaxDeaths: int64(w.c.RecoveryAttempts)})
		if err != nil && store.RefusedAs(err) == "" {
			return
		}
	}
}

// drain waits until everything is handed over and the effects in flight ended, or the drain time is over.
func (w *Worker) drain() {
	w.leases.Lock()
	w.leases.Drain()
	w.leases.Unlock()
	close(w.draining)
	w.logStopping()
	handed, drained := make(chan struct{}), make(chan struct{})
	go func() {
		w.executors.Wait()
		close(handed)
		w.detached.Wait()
		close(drained)
	}()
	drainTime := time.NewTimer(w.c.Drain)
	defer drainTime.Stop()
	select {
	case <-drained:
	case <-drainTime.C:
		w.logLeaving()
		w.leases.Lock()
		w.leases.Leave()
		w.leases.Unlock()
		close(w.leaving)
		<-handed
	}
}

// listen passes on hints, until there are no more.
func (w *Worker) listen(hints <-chan store.Hint) {
	for hint := range hints {
		if hint.Queue != "" && w.c.Changed != nil {
			w.c.Changed(hint.Queue, hint.Partition)
		} else if hint.Partition >= 0 && hint.Partition < len(w.partitions) {
			w.partitions[hint.Partition].nudge()
		}
		if x := w.executorOf(hint.Mail); x != nil {
			x.mailArrived()
		}
	}
}

// watch asks the store for the writes to all partitions in one call. It notices changes without a hint.
func (w *Worker) watch(ctx context.Context) {
	last := make(map[int]int64, len(w.partitions))
	for sleep(ctx, w.c.Poll-rand.N(w.c.Poll/4)) {
		all, err := w.c.Store.Written(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.c.Log.Warn("the store could not be asked what has changed; it is asked again", "error", err)
			}
			continue
		}
		w.leases.Lock()
		w.leases.Answered(w.c.Now())
		w.leases.Unlock()
		var written []int
		for n, now := range all {
			w.partitions[n].watched(now)
			if last[n] != now.Writes || now.Writes < 0 {
				written = append(written, n)
			}
			last[n] = now.Writes
		}
		if w.c.Watched != nil {
			w.c.Watched(written)
		}
	}
}
