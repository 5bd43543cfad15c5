package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/store"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	operateFlags
	scenarios   []string
	size        float64
	concurrency int
}

func (p *program) benchCommand() *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use: "bench [SCENARIO...]", Short: "Measure how fast a store and this machine run workflows",
		Example: `  swrun bench --store redis://localhost:6379 -o json
  swrun bench timers timeouts --size 0.1 --store redis://localhost:6379`,
		Long: "Scenarios:\n" + benchHelp() + "\nthroughput is the median of five rounds, with the store's bare scripts measured before and after them. p50, p99 and max are\n" +
			"how late something was that was due, and elsewhere how long a step took. On Redis bench works in a deployment of its own, whose\n" +
			"runs are removed afterwards, and when it is interrupted; of an embedded store it makes another one for itself. Your runs are left alone.",
		RunE: verb(func(args []string) error {
			if _, sink := p.env(benchSink); sink {
				return p.beSink()
			}
			f.scenarios = args
			if err := f.checkSize(); err != nil {
				return err
			}
			leave, err := p.benchApart(f)
			if err != nil {
				return err
			}
			defer leave()
			return p.operate(&f.operateFlags, func(o *operation) error { return o.bench(f) })
		}),
	}
	cmd.ValidArgs = scenarioNames()
	f.add(cmd, "human", "json")
	f.makes = true
	cmd.Flags().Float64Var(&f.size, "size", 1, "how large: 1 is the full size, 0.1 a tenth of it")
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 100, "runs in hand at a time, for throughput and crash")
	return cmd
}

// maxSize is more than any machine measures in a day.
const maxSize = 1000

func (f *benchFlags) checkSize() error {
	if !(f.size > 0 && f.size <= maxSize) { // NaN neither
		return usagef("for example --size 0.1", "--size must be above 0 and at most %d, got %g", maxSize, f.size)
	}
	return atLeast("--concurrency", f.concurrency, 1)
}

// benchApart makes the flags mean a store of bench's own, where the one is that was asked for: its worker performs nothing
// that it takes, and must not take what is somebody's. leave removes what need not be kept.
func (p *program) benchApart(f *benchFlags) (leave func(), err error) {
	leave = func() {}
	f.url, _ = f.location(p)
	scheme, path, _ := strings.Cut(f.url, ":")
	_, spawned := p.env(benchWorker)
	switch {
	case spawned: // by one that has done this
	case scheme == "file":
		folder, err := os.MkdirTemp(existing(filepath.Dir(path)), ".swrun-bench-")
		if err != nil {
			return leave, storeError(err)
		}
		f.url = "file:" + filepath.Join(folder, "store.db")
		leave = func() { os.RemoveAll(folder) } // What cannot be removed does no harm
	case strings.HasPrefix(scheme, "redis"):
		u, err := url.Parse(f.url)
		if err != nil {
			return leave, nil // opening it tells
		}
		query := u.Query()
		query.Set("deployment", cmp.Or(query.Get("deployment"), redisstore.DefaultDeployment)+"-bench")
		u.RawQuery = query.Encode()
		f.url = u.String()
	}
	return leave, nil
}

// existing returns the nearest folder, from folder upward, that is there.
func existing(folder string) string {
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(folder); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	return folder
}

// scenario is one thing that bench measures.
type scenario struct {
	name, about string
	measure     func(*bench) (*measured, error)
}

func scenarios() []scenario {
	return []scenario{
		{"throughput", "2 000 runs of ten durable steps, one worker", (*bench).throughput},
		{"http", "2 000 runs of ten HTTP calls, one worker, beside the same requests without workflows", (*bench).http},
		{"timers", "10 000 runs that sleep to moments spread over 10 s, and 100 000 that wake in one millisecond", (*bench).timers},
		{"timeouts", "2 000 timeouts of 2 s on a task that blocks 60 s, 500 a second", (*bench).timeouts},
		{"sleepers", "what 100 000 sleeping runs take of the store's and the worker's memory, and how fast they are started, ended and removed", (*bench).sleepers},
		{"long", "one run of 10 000 durable steps: what a step takes at the end and at the beginning", (*bench).long},
		{"idle", "what a worker costs that has nothing to do, with 1 000 sleeping runs: the store's operations and its own CPU", (*bench).idle},
		{"crash", "throughput with the only worker killed in the middle, and another a second later", (*bench).crash},
	}
}

func scenarioNames() (names []string) {
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

func benchHelp() string {
	var b strings.Builder
	for _, s := range scenarios() {
		fmt.Fprintf(&b, "  %-11s %s\n", s.name, s.about)
	}
	return b.String()
}

// measured is what a scenario came to. The percentiles are of lateness, from when
// something was due to when it was stored; of what a step took where nothing is due.
type measured struct {
	Scenario      string  `json:"scenario"`
	Instances     int     `json:"instances"`
	Steps         int     `json:"steps"`
	Seconds       float64 `json:"seconds"`
	StepsPerS     float64 `json:"steps_per_s"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	Max           float64 `json:"max_ms"`
	Early         int     `json:"early"`
	Lost          int     `json:"lost"`
	Duplicates    int     `json:"duplicates"`
	RedisBytes    float64 `json:"redis_bytes_per_instance"`
	WorkerRSS     int64   `json:"worker_rss_bytes"`
	RawEvalPerS   float64 `json:"raw_eval_per_s"`
	RatioToRaw    float64 `json:"ratio_to_raw"`
	GrowthPerStep float64 `json:"cost_at_end_to_beginning,omitempty"`
	Recovery      float64 `json:"recovery_seconds,omitempty"`
	CPUPerStep    float64 `json:"worker_cpu_us_per_step,omitempty"`
	RawHTTPPerS   float64 `json:"raw_http_per_s,omitempty"`
	RawHTTPCPU    float64 `json:"raw_http_cpu_us_per_request,omitempty"`
	Started       float64 `json:"started_per_s,omitempty"`
	Ended         float64 `json:"ended_per_s,omitempty"`
	Removed       float64 `json:"removed_per_s,omitempty"`
	StoreOpsPerS  float64 `json:"store_ops_per_s,omitempty"`
	WorkerCPU     float64 `json:"worker_cpu_percent,omitempty"`
}

// latencies fills in the percentiles of some latenesses.
func (m *measured) latencies(all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(q float64) float64 { return milliseconds(all[min(len(all)-1, int(q*float64(len(all))))]) }
	m.P50, m.P99, m.Max = at(0.5), at(0.99), milliseconds(all[len(all)-1])
	for _, d := range all {
		if d < 0 {
			m.Early++
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// bench is one call of bench at work.
type bench struct {
	*operation
	flags *benchFlags
	ctx   context.Context
	runs  []store.Instance
}

func (o *operation) bench(f *benchFlags) error {
	if _, worker := o.env(benchWorker); worker {
		o.collectLess()
		return (&bench{operation: o, flags: f, ctx: o.ctx}).beWorker()
	}
	o.collectLess()
	names := f.scenarios
	if len(names) == 0 {
		names = scenarioNames()
	}
	for _, name := range names {
		if err := oneOf("bench", name, scenarioNames()...); err != nil {
			return err
		}
	}
	for _, s := range scenarios() {
		if !slices.Contains(names, s.name) {
			continue
		}
		b := &bench{operation: o, flags: f, ctx: o.ctx}
		m, err := s.measure(b)
		if interrupted := b.ctx.Err(); interrupted != nil {
			b.abandon()
			return interrupted
		}
		if cleaning := b.clean(); err == nil {
			err = cleaning
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		m.Scenario = s.name
		if err := o.report(m); err != nil {
			return err
		}
	}
	return nil
}

func (o *operation) report(m *measured) error {
	if o.flags.output == "json" {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		v, err := expr.Decode(data)
		if err != nil {
			return err
		}
		return o.print(v)
	}
	fmt.Fprintf(o.out, "%-11s %s, %s in %.2fs: %.0f steps/s", m.Scenario, terminal.Counted(m.Instances, "run"), terminal.Counted(m.Steps, "step"), m.Seconds, m.StepsPerS)
	if m.RawEvalPerS > 0 {
		fmt.Fprintf(o.out, ", %.0f%% of %.0f bare scripts/s", 100*m.RatioToRaw, m.RawEvalPerS)
	}
	if m.RawHTTPPerS > 0 {
		fmt.Fprintf(o.out, " and %.0f µs of the worker's CPU each, %.0f%% of %.0f bare requests/s with %.0f µs each",
			m.CPUPerStep, 100*m.RatioToRaw, m.RawHTTPPerS, m.RawHTTPCPU)
	}
	if m.Max > 0 {
		fmt.Fprintf(o.out, ", late by p50 %.1fms p99 %.1fms max %.1fms, early %d", m.P50, m.P99, m.Max, m.Early)
	}
	if m.RedisBytes > 0 {
		fmt.Fprintf(o.out, ", %.0f bytes a run", m.RedisBytes)
	}
	if m.GrowthPerStep > 0 {
		fmt.Fprintf(o.out, ", a step at the end takes %.2f of one at the beginning", m.GrowthPerStep)
	}
	if m.Recovery > 0 {
		fmt.Fprintf(o.out, ", recovered in %.2fs", m.Recovery)
	}
	if m.Started > 0 {
		fmt.Fprintf(o.out, ", started %.0f/s, ended %.0f/s, removed %.0f/s", m.Started, m.Ended, m.Removed)
	}
	if m.WorkerCPU+m.StoreOpsPerS > 0 {
		fmt.Fprintf(o.out, ", %.0f operations/s of the store and %.2f%% of a core by an idle worker", m.StoreOpsPerS, m.WorkerCPU)
	}
	_, err := fmt.Fprintf(o.out, ", lost %d, twice %d, worker %.0f MB\n", m.Lost, m.Duplicates, float64(m.WorkerRSS)/1e6)
	return err
}

// of returns n at the size that was asked for.
func (b *bench) of(n int) int { return max(1, int(float64(n)*b.flags.size)) }
