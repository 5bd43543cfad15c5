// Package bench measures the speed of workflows on a store and this machine: its scenarios are the scenarios of `swrun bench`, and their figures have
// the names that people compare. It starts its own runs in a store that has no other user, and deletes them; it never reads other runs. If a scenario
// needs another process, the package starts this program again.
package bench

import (
	"context"
	"fmt"
	"io"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// Config specifies the measurement, and its size.
type Config struct {
	Store       *swrun.Store
	Client      *client.Client // of Store
	Size        float64        // 1 is the full size of the scenarios
	Concurrency int            // runs in progress at a time
	Stderr      io.Writer
}

// Scenario is one measurement of bench.
type Scenario struct {
	Name, About string
	measure     func(*benchmark, context.Context) (*Measured, error)
}

// Scenarios returns all scenarios, in the order of their measurement.
func Scenarios() []Scenario {
	return []Scenario{
		{"throughput", "2 000 runs of ten durable steps, one worker", (*benchmark).throughput},
		{"http", "2 000 runs of ten HTTP calls, one worker, beside the same requests without workflows", (*benchmark).http},
		{"activities", "2 000 runs of ten activities, which one outside worker performs over HTTP", (*benchmark).activities},
		{"timers", "10 000 runs that sleep to moments spread over 10 s, and 100 000 that wake in one millisecond", (*benchmark).timers},
		{"timeouts", "2 000 timeouts of 2 s on a task that blocks 60 s, 500 a second", (*benchmark).timeouts},
		{"activity-timeouts", "1 000 of each of the four timeouts of an activity, 2 s, 500 a second", (*benchmark).activityTimeouts},
		{"events", "100 000 runs that listen each for its own order, 500 events a second; and one event that 10 000 runs listen for", (*benchmark).events},
		{"sleepers", "how much memory of store and worker 100 000 sleeping runs take, and how fast they are started, ended and removed", (*benchmark).sleepers},
		{"long", "one run of 10 000 durable steps: the time of a step at the end and at the beginning", (*benchmark).long},
		{"idle", "an idle worker while 1 000 runs sleep: the operations of the store and the CPU of the worker", (*benchmark).idle},
		{"crash", "throughput with the only worker killed in the middle, and another a second later", (*benchmark).crash},
	}
}

// Measure measures a scenario, and deletes its runs, even after an interruption.
func (s Scenario) Measure(ctx context.Context, c Config) (*Measured, error) {
	b := &benchmark{Config: c}
	m, err := s.measure(b, ctx)
	if interrupted := ctx.Err(); interrupted != nil {
		b.abandon(ctx)
		return nil, interrupted
	}
	if cleaning := b.clean(ctx); err == nil {
		err = cleaning
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	m.Scenario = s.Name
	return m, nil
}

// Work is the main function of a program that was started with WorkerVariable, until ctx ends or it is killed.
func Work(ctx context.Context, c Config) {
	b := &benchmark{Config: c}
	stop := b.work(ctx, worker.Config{Compile: b.compile(effortless), Concurrency: c.Concurrency})
	<-ctx.Done()
	stop()
}

// benchmark is a scenario during its measurement.
type benchmark struct {
	Config
	runs []store.Instance
}

// of returns n at the requested size.
func (b *benchmark) of(n int) int { return max(1, int(float64(n)*b.Size)) }
