package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/store"
)

// The documents of listening runs: each for its own order, and all for the same.
const (
	ownOrder = "do:\n- paid: {listen: {to: {one: {with: {type: paid}, correlate: {order: {from: .data.n, expect: '${ .n }'}}}}}}\n"
	anyBell  = "do:\n- rung: {listen: {to: {one: {with: {type: bell}}}}}\n"
)

// listenersRate is the number of published events a second.
const listenersRate = 500

// events measures the time until events reach listening runs: one of very many each, and many together.
func (b *benchmark) events(ctx context.Context) (*Measured, error) {
	m := &Measured{Runs: b.of(100_000)}
	pid, stop, err := b.apart(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	own, err := b.deploy(ctx, "order", ownOrder)
	if err != nil {
		return nil, err
	}
	if err := b.startAsleep(ctx, own, m.Runs); err != nil {
		return nil, err
	}
	if err := b.reachOne(ctx, m, b.of(5000)); err != nil {
		return nil, err
	}
	m.WorkerRSS = residentOf(pid)
	if err := b.endAll(ctx); err != nil {
		return nil, err
	}
	if err := b.clean(ctx); err != nil {
		return nil, err
	}
	return m, b.reachAll(ctx, m, b.of(10_000))
}

// bus returns a bus of events that start nothing.
func (b *benchmark) bus() *events.Bus {
	return events.NewBus(b.Store, func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}, nil)
}

// event returns a new event.
func event(kind string, n int) map[string]any {
	return map[string]any{"specversion": "1.0", "source": "/bench", "type": kind, "id": rand.Text(), "data": map[string]any{"n": n}}
}

// reachOne publishes n events at a fixed rate, each for one of the runs, and measures the time until the run is over.
func (b *benchmark) reachOne(ctx context.Context, m *Measured, n int) error {
	before, err := b.count(ctx)
	if err != nil {
		return err
	}
	bus, apart := b.bus(), len(b.runs)/n
	published, failed := make([]time.Time, n), make([]error, n)
	var publishing sync.WaitGroup
	began := time.Now()
	for i := range n {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / listenersRate)))
		published[i] = time.Now()
		publishing.Go(func() { _, failed[i] = bus.Publish(ctx, event("paid", i*apart), nil) })
	}
	publishing.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	if err := b.closed(ctx, before, n, time.Minute); err != nil {
		return err
	}
	m.took(time.Since(began), n)
	took := make([]time.Duration, n)
	for i := range n {
		l, err := b.Store.Load(ctx, b.runs[i*apart])
		if err != nil {
			return err
		}
		took[i] = l.Lifecycle.Closed.Sub(published[i])
	}
	m.durations(eventTook, took)
	return b.cleanEvery(ctx, apart, n)
}

// cleanEvery deletes n of the finished runs: the first, and each one at that distance from the one before.
func (b *benchmark) cleanEvery(ctx context.Context, apart, n int) error {
	var ended, others []store.Instance
	for i, run := range b.runs {
		if i%apart == 0 && i/apart < n {
			ended = append(ended, run)
		} else {
			others = append(others, run)
		}
	}
	b.runs = others
	return cmp.Or(b.Client.DeleteAll(ctx, ended)...)
}

// reachAll publishes one event that n runs listen for, and measures the time until all of them are over.
func (b *benchmark) reachAll(ctx context.Context, m *Measured, n int) error {
	all, err := b.deploy(ctx, "bell", anyBell)
	if err != nil {
		return err
	}
	if err := b.startAsleep(ctx, all, n); err != nil {
		return err
	}
	before, err := b.count(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	report, err := b.bus().Publish(ctx, event("bell", 0), nil)
	if err != nil {
		return err
	}
	m.Lost += n - len(report.Matched)
	err = b.closed(ctx, before, n, time.Minute)
	m.Broadcast = time.Since(began).Seconds()
	return err
}
