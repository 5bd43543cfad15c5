package bench

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// sleepers measures the cost of sleeping runs, and the speed of their starts and ends.
func (b *benchmark) sleepers(ctx context.Context) (*Measured, error) {
	m := &Measured{Runs: b.of(100_000)}
	r, err := b.deploy(ctx, "sleeper", "do:\n- nap: {wait: P7D}\n")
	if err != nil {
		return nil, err
	}
	pid, stop, err := b.apart(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := b.startAsleep(ctx, r, b.of(5000)); err != nil { // so that everything that is allocated once exists
		return nil, err
	}
	memory, err := b.memory(ctx)
	if err != nil {
		return nil, err
	}
	before, began := residentOf(pid), time.Now()
	if err := b.startAsleep(ctx, r, m.Runs); err != nil {
		return nil, err
	}
	m.took(time.Since(began), m.Runs)
	m.Started = m.StepsPerS
	after, err := b.memory(ctx)
	m.RedisBytesPerRun = float64(after-memory) / float64(m.Runs)
	m.WorkerRSS = residentOf(pid) - before
	if err != nil {
		return nil, err
	}
	return m, b.endSleepers(ctx, m)
}

// endSleepers ends the runs and deletes them, and measures both.
func (b *benchmark) endSleepers(ctx context.Context, m *Measured) error {
	began, all := time.Now(), float64(len(b.runs))
	if err := b.endAll(ctx); err != nil {
		return err
	}
	m.Ended = all / time.Since(began).Seconds()
	began = time.Now()
	err := b.clean(ctx)
	m.Removed = all / time.Since(began).Seconds()
	return err
}

// startAsleep starts runs that sleep, and waits until they sleep.
func (b *benchmark) startAsleep(ctx context.Context, r definition.Reference, n int) error {
	if err := b.start(ctx, r, n, numbered); err != nil {
		return err
	}
	return b.asleep(ctx)
}

// apart runs a worker in a separate process, if the store allows it, and returns its process.
func (b *benchmark) apart(ctx context.Context) (pid int, stop func(), err error) {
	if b.Store.Local() {
		return os.Getpid(), b.work(ctx, worker.Config{Compile: b.compile(effortless)}), nil
	}
	worker, err := b.spawn()
	if err != nil {
		return 0, nil, err
	}
	return worker.Process.Pid, func() {
		worker.Process.Kill() // its work is done
		_ = worker.Wait()
	}, nil
}

// asleep waits until no run is ready or held by a worker.
func (b *benchmark) asleep(ctx context.Context) error {
	return b.progress(ctx, len(b.runs), time.Minute, func() (busy int64, err error) {
		for p := range b.Store.Layout().Partitions {
			st, err := b.Store.Statistics(ctx, p)
			if err != nil {
				return 0, err
			}
			upcoming, err := b.Store.Upcoming(ctx, p, time.Now().Add(10*time.Minute))
			if err != nil {
				return 0, err
			}
			busy += st.Ready + int64(len(upcoming))
		}
		return busy, nil
	})
}

// endAll cancels the sleeping runs, so that they can be deleted.
func (b *benchmark) endAll(ctx context.Context) error {
	before, err := b.count(ctx)
	if err != nil {
		return err
	}
	if err := cmp.Or(client.ForEach(b.runs, func(i store.Instance) error {
		return b.Client.Terminate(ctx, i, "the measurement is over")
	})...); err != nil {
		return err
	}
	return b.closed(ctx, before, len(b.runs), 5*time.Minute)
}
