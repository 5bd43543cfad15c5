package bench

import (
	"context"
	"time"
)

// untilIdle is the time after which a worker counts as idle.
const untilIdle = 5 * time.Second

// idle measures the cost of a worker with nothing to do while runs sleep.
func (b *benchmark) idle(ctx context.Context) (*Measured, error) {
	m := &Measured{Runs: b.of(1000)}
	r, err := b.deploy(ctx, "sleeper", "do:\n- nap: {wait: P7D}\n")
	if err != nil {
		return nil, err
	}
	pid, stop, err := b.apart(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := b.startAsleep(ctx, r, m.Runs); err != nil {
		return nil, err
	}
	time.Sleep(untilIdle)
	operations, err := b.operations(ctx)
	if err != nil {
		return nil, err
	}
	began, used := time.Now(), cpuOf(pid)
	time.Sleep(max(time.Second, time.Duration(b.Size*float64(20*time.Second))))
	m.WorkerCPU = 100 * (cpuOf(pid) - used).Seconds() / time.Since(began).Seconds()
	after, err := b.operations(ctx)
	if err != nil {
		return nil, err
	}
	m.took(time.Since(began), 0)
	m.StoreOpsPerS = float64(after-operations) / m.Seconds
	m.WorkerRSS = residentOf(pid)
	return m, b.endAll(ctx)
}
