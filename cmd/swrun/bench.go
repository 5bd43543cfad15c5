package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/bench"
	"github.com/swrun/swrun/redisstore"
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
			"the delays between the due time of work and its storage; in scenarios without due work, the durations of steps. On Redis, bench uses a\n" +
			"separate deployment and removes its runs afterwards, also after an interrupt. For an embedded store it makes a separate file.",
		RunE: verb(func(args []string) error {
			if _, isServer := p.env(bench.ServerVariable); isServer {
				return bench.Serve(p.in, p.out)
			}
			if server, isOutside := p.env(bench.ActivitiesVariable); isOutside {
				return bench.PerformActivities(context.Background(), server, f.concurrency) // until the process is killed
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
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return o.bench(ctx, f) })
		}),
	}
	cmd.ValidArgs = scenarioNames()
	f.add(cmd, "human", "json")
	f.makes, f.alone = true, true
	cmd.Flags().Float64Var(&f.size, "size", 1, "factor of the size of scenarios: 1 is the full size, 0.1 a tenth of it")
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 100, "maximum number of runs in progress, in throughput and crash; maximum number of activities in progress")
	return cmd
}

// maxSize is larger than any machine can measure in a day.
const maxSize = 1000

func (f *benchFlags) checkSize() error {
	if !(f.size > 0 && f.size <= maxSize) { // also refuses NaN
		return usagef("for example --size 0.1", "--size must be above 0 and at most %d, got %g", maxSize, f.size)
	}
	return atLeast("--concurrency", f.concurrency, 1)
}

// benchApart sets the flags to a store of bench's own, beside the store that they name: the worker of bench performs no effects, so that it must not
// claim runs of users. leave removes temporary data.
func (p *program) benchApart(f *benchFlags) (leave func(), err error) {
	leave = func() {}
	f.url, _ = f.location(p)
	scheme, path, _ := strings.Cut(f.url, ":")
	_, spawned := p.env(bench.WorkerVariable)
	switch {
	case spawned: // the parent process has done this
	case scheme == "file":
		folder, err := os.MkdirTemp(existing(filepath.Dir(path)), ".swrun-bench-")
		if err != nil {
			return leave, storeError(err)
		}
		f.url = "file:" + filepath.Join(folder, "store.db")
		leave = func() { os.RemoveAll(folder) } // leftovers do no harm
	case strings.HasPrefix(scheme, "redis"):
		u, err := url.Parse(f.url)
		if err != nil {
			return leave, nil // opening it returns the error
		}
		query := u.Query()
		query.Set("deployment", cmp.Or(query.Get("deployment"), redisstore.DefaultDeployment)+"-bench")
		u.RawQuery = query.Encode()
		f.url = u.String()
	}
	return leave, nil
}

// existing returns the nearest existing folder, from folder upward.
func existing(folder string) string {
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(folder); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	return folder
}

func benchHelp() string {
	var b strings.Builder
	for _, s := range bench.Scenarios() {
		fmt.Fprintf(&b, "  %-11s %s\n", s.Name, s.About)
	}
	return b.String()
}

func (o *operation) bench(ctx context.Context, f *benchFlags) error {
	c := bench.Config{Store: o.store.Store, Client: o.client, Size: f.size, Concurrency: f.concurrency, Stderr: o.err}
	if _, isWorker := o.env(bench.WorkerVariable); isWorker {
		bench.Work(ctx, c)
		return nil
	}
	names := f.scenarios
	if len(names) == 0 {
		names = scenarioNames()
	}
	for _, name := range names {
		if err := oneOf("bench", name, scenarioNames()...); err != nil {
			return err
		}
	}
	for _, s := range bench.Scenarios() {
		if !slices.Contains(names, s.Name) {
			continue
		}
		m, err := s.Measure(ctx, c)
		if errors.Is(err, bench.ErrEmbedded) {
			return usagef("name a Redis with --store", "%s", err)
		}
		if err != nil {
			return err
		}
		if err := o.measured(m); err != nil {
			return err
		}
	}
	return nil
}

func (o *operation) measured(m *bench.Measured) error {
	if o.flags.output == "json" {
		return o.print(m)
	}
	return write(o.out, m.String()+"\n")
}

func scenarioNames() (names []string) {
	for _, s := range bench.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}
