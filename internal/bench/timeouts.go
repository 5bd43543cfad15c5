package bench

import (
	"context"
	"maps"
	"slices"
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
	late := lateTimeouts{}
	m.Lost, m.Duplicates, err = b.account(ctx, late.add)
	m.durations(lateBy, late.all())
	return m, err
}

// lateTimeouts are the delays of timeouts, by their kind.
type lateTimeouts map[string][]time.Duration

// add adds the timeouts in an entry.
func (l lateTimeouts) add(e client.HistoryEntry) {
	for _, event := range e.Events {
		if event.Type != interpreter.TaskFaulted || event.Error == nil {
			continue
		}
		kind, _ := event.Error.Extensions[interpreter.MemberTimeoutKind].(string)
		text, _ := event.Error.Extensions["deadline"].(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			l[kind] = append(l[kind], e.CommittedAt.Sub(at))
		}
	}
}

func (l lateTimeouts) all() []time.Duration { return slices.Concat(slices.Collect(maps.Values(l))...) }

func (l lateTimeouts) byKind() map[string]Percentiles {
	kinds := make(map[string]Percentiles, len(l))
	for kind, late := range l {
		kinds[kind] = percentiles(late)
	}
	return kinds
}
