package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

// stepsPerRun is the number of steps of a run of throughput.
const stepsPerRun = 10

// endpoint is the endpoint in the documents of bench.
const endpoint = "http://bench.invalid/"

// steps returns a list of n durable steps.
func steps(n int) string {
	var b strings.Builder
	b.WriteString("do:\n")
	for i := range n {
		fmt.Fprintf(&b, "- s%d: {call: http, with: {method: get, endpoint: '"+endpoint+"'}}\n", i)
	}
	return b.String()
}

func numbered(i int) any { return map[string]any{"n": i} }

// throughputRounds is the number of measurements of throughput, each of which takes half a second; the median counts.
const throughputRounds = 5

func (b *benchmark) throughput(ctx context.Context) (*Measured, error) {
	before, err := b.raw(ctx)
	if err != nil {
		return nil, err
	}
	m := &Measured{Runs: b.of(2000)}
	w := worker.Config{Compile: b.compile(effortless), Concurrency: b.Concurrency}
	if _, err := b.runSteps(ctx, b.of(200), w); err != nil { // so that connections and memory exist
		return nil, err
	}
	var rounds []time.Duration
	for range throughputRounds {
		if err := b.rested(ctx); err != nil {
			return nil, err
		}
		c, err := b.runSteps(ctx, m.Runs, w)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, c.elapsed)
	}
	after, err := b.raw(ctx)
	if err != nil {
		return nil, err
	}
	m.RawEvalPerS = (before + after) / 2
	slices.Sort(rounds)
	m.took(rounds[throughputRounds/2], m.Runs*stepsPerRun)
	m.WorkerRSS = rss()
	var took []time.Duration
	m.Lost, m.Duplicates, err = b.account(ctx, gaps(&took))
	m.durations(stepTook, took)
	return m, err
}

// gaps adds the times between the commits of successive entries to took.
func gaps(took *[]time.Duration) func(client.HistoryEntry) {
	var before time.Time
	return func(e client.HistoryEntry) { // all entries of a run come together, in order
		if e.Events[0].Seq > 1 {
			*took = append(*took, e.CommittedAt.Sub(before))
		}
		before = e.CommittedAt
	}
}

// cost is the elapsed time and the CPU time of this process.
type cost struct{ elapsed, cpu time.Duration }

// runSteps starts n runs of durable steps, and returns the cost of a worker for them.
func (b *benchmark) runSteps(ctx context.Context, n int, c worker.Config) (cost, error) {
	if _, err := b.startSteps(ctx, n); err != nil {
		return cost{}, err
	}
	ended := newCountdown(n)
	c.Observe = ended.observe
	began, before := time.Now(), cpuOf(os.Getpid())
	stop := b.work(ctx, c)
	err := ended.wait(ctx, 5*time.Minute)
	took := cost{time.Since(began), cpuOf(os.Getpid()) - before}
	stop()
	return took, err
}

// startSteps starts n runs of durable steps, and returns the number of runs that were over before.
func (b *benchmark) startSteps(ctx context.Context, n int) (before int64, err error) {
	r, err := b.deploy(ctx, "steps", steps(stepsPerRun))
	if err != nil {
		return 0, err
	}
	if before, err = b.count(ctx); err != nil {
		return 0, err
	}
	return before, b.start(ctx, r, n, numbered)
}
