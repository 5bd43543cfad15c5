package bench

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

func (b *benchmark) long(ctx context.Context) (*Measured, error) {
	n := b.of(10_000)
	m := &Measured{Runs: 1}
	r, err := b.deploy(ctx, "long", "do:\n- all: {for: {in: '${ [range(.n)] }'}, do: [{s: {call: http, with: {method: get, endpoint: 'http://bench.invalid/'}}}]}\n")
	if err != nil {
		return nil, err
	}
	before, err := b.count(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	stop := b.work(ctx, worker.Config{Compile: b.compile(effortless)})
	if err = b.start(ctx, r, 1, func(int) any { return map[string]any{"n": n} }); err == nil {
		err = b.closed(ctx, before, 1, 10*time.Minute)
	}
	m.took(time.Since(began), n)
	m.WorkerRSS = rss()
	stop()
	if err != nil {
		return nil, err
	}
	var ends []time.Time
	var took []time.Duration
	gap := gaps(&took)
	m.Lost, m.Duplicates, err = b.account(ctx, func(e client.HistoryEntry) {
		ends = append(ends, e.CommittedAt)
		gap(e)
	})
	m.durations(stepTook, took)
	if tenth := len(ends) / 10; tenth > 0 {
		first, last := ends[tenth].Sub(ends[0]), ends[len(ends)-1].Sub(ends[len(ends)-1-tenth])
		m.GrowthPerStep = float64(last) / float64(max(first, time.Millisecond))
	}
	return m, err
}
