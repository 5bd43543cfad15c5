package bench

import (
	"context"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

func (b *benchmark) timeouts(ctx context.Context) (*Measured, error) {
	m := &Measured{Runs: b.of(2000)}
	r, err := b.deploy(ctx, "timeout", "do:\n- slow: {call: http, with: {method: get, endpoint: 'http://bench.invalid/'}, timeout: {after: PT2S}}\n")
	if err != nil {
		return nil, err
	}
	before, err := b.count(ctx)
	if err != nil {
		return nil, err
	}
	stop := b.work(ctx, worker.Config{Compile: b.compile(block), Concurrency: 5000})
	began := time.Now()
	for i := range m.Runs {
		time.Sleep(time.Until(began.Add(time.Duration(i) * 2 * time.Millisecond)))
		instance, err := b.Client.Start(ctx, r, nil, client.StartOptions{})
		if err != nil {
			stop()
			return nil, err
		}
		b.runs = append(b.runs, instance)
	}
	err = b.closed(ctx, before, m.Runs, 5*time.Minute)
	m.took(time.Since(began), m.Runs)
	m.WorkerRSS = rss()
	stop()
	if err != nil {
		return nil, err
	}
	var late []time.Duration
	m.Lost, m.Duplicates, err = b.account(ctx, func(e client.HistoryEntry) { late = append(late, lateTimeouts(e)...) })
	m.durations(lateBy, late)
	return m, err
}

// lateTimeouts returns by how much the timeouts were late that an entry stores.
func lateTimeouts(e client.HistoryEntry) (late []time.Duration) {
	for _, event := range e.Events {
		if event.Type != interpreter.TaskFaulted || event.Error == nil {
			continue
		}
		text, _ := event.Error.Extensions["deadline"].(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			late = append(late, e.CommittedAt.Sub(at))
		}
	}
	return late
}
