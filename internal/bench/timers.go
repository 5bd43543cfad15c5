package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

func (b *benchmark) timers(ctx context.Context) (*Measured, error) {
	spread, err := b.sleepUntil(ctx, b.of(10_000), min(10*time.Second, max(time.Second, time.Duration(b.Size*float64(10*time.Second)))))
	if err != nil {
		return nil, err
	}
	if err := b.clean(ctx); err != nil {
		return nil, err
	}
	burst, err := b.sleepUntil(ctx, b.of(100_000), 0)
	if err != nil {
		return nil, err
	}
	spread.Lost += burst.Lost
	spread.Duplicates += burst.Duplicates
	spread.Early += burst.Early
	spread.Runs += burst.Runs
	spread.Steps += burst.Steps
	spread.BurstLateness = burst.Max / 1000
	return spread, nil
}

// sleepUntil starts n runs that sleep until moments spread over a time, and measures their delays.
func (b *benchmark) sleepUntil(ctx context.Context, n int, over time.Duration) (*Measured, error) {
	m := &Measured{Runs: n}
	r, err := b.deploy(ctx, "sleep", "do:\n- nap: {wait: '${ .for }'}\n")
	if err != nil {
		return nil, err
	}
	before, err := b.count(ctx)
	if err != nil {
		return nil, err
	}
	// All of them are asleep before the first wakes.
	asleep := 2*time.Second + time.Duration(n)*150*time.Microsecond
	wake := time.Now().Add(asleep)
	stop := b.work(ctx, worker.Config{Compile: b.compile(effortless), ParkAfter: time.Millisecond})
	err = b.start(ctx, r, n, func(i int) any {
		at := wake
		if n > 1 {
			at = at.Add(over * time.Duration(i) / time.Duration(n-1))
		}
		return map[string]any{"for": fmt.Sprintf("PT%.3fS", time.Until(at).Seconds())}
	})
	if err == nil {
		began := time.Now()
		err = b.closed(ctx, before, n, time.Until(wake)+over+5*time.Minute)
		m.took(time.Since(began), n)
	}
	m.WorkerRSS = rss()
	stop()
	if err != nil {
		return nil, err
	}
	var late []time.Duration
	due := map[string]time.Time{}
	m.Lost, m.Duplicates, err = b.account(ctx, func(e client.HistoryEntry) {
		late = append(late, lateness(e, due)...)
	})
	m.durations(lateBy, late)
	return m, err
}

// lateness returns the delays of the waits that an entry ends. The entries of a run come in order.
func lateness(e client.HistoryEntry, due map[string]time.Time) (late []time.Duration) {
	for _, r := range e.Events {
		switch r.Type {
		case interpreter.TaskWaiting:
			due[e.Token.Nonce+string(r.Path)] = r.Until
		case interpreter.TaskCompleted, interpreter.TaskFaulted:
			for key, at := range due {
				late = append(late, e.CommittedAt.Sub(at))
				delete(due, key)
			}
		}
	}
	return late
}
