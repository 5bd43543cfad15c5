package main

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// workerFlags are the flags of worker and serve.
type workerFlags struct {
	operateFlags
	given                              *pflag.FlagSet
	variables                          map[string]string // of the environment, by the flags that they set
	concurrency, namespaceConcurrency  int
	drain, lease, parkAfter, retention string
	memory                             string
	secrets, js, logLevel              string
	metrics                            string
	rereads                            *rereader
	drafts                             bool // it is dev, whose log is for one person
	processes, files, publish          bool
	publicMetrics                      bool
	containers                         bool
	volumes                            []string
	limits, queues                     []string
	host                               hostFlags
	checkInterval, sweepInterval       string
	recoveryAttempts, scanLimit        int
	observe                            func(store.Instance, []interpreter.HistoryEvent)
}

func (p *program) workerCommand() *cobra.Command {
	f := &workerFlags{}
	cmd := &cobra.Command{
		Use: "worker", Short: "Run the runs of a store until it is stopped",
		Example: "  swrun worker --store redis://localhost:6379",
		Long: `Any number of workers may share a store on Redis. A worker may be killed at any moment; another worker continues its runs.
SIGTERM and Ctrl-C hand over the runs: idle runs immediately, other runs when their effects end or --drain is over.`,
		Args: exactly(), RunE: verb(func([]string) error {
			if err := cmp.Or(f.checkMetrics(), f.logTo(p)); err != nil {
				return err
			}
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return o.work(ctx, f) })
		}),
	}
	f.add(cmd)
	f.makes = true
	f.options(cmd)
	cmd.Flags().StringVar(&f.metrics, "metrics", "", "address of the metrics for Prometheus, /livez and /readyz, for example 127.0.0.1:9090; port 0 takes a free port")
	cmd.Flags().BoolVar(&f.publicMetrics, "metrics-public", false, "allow an address of --metrics that other machines reach, so that everyone there can read the metrics")
	return cmd
}

func (f *workerFlags) options(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.given = flags
	flags.IntVar(&f.concurrency, "concurrency", worker.DefaultConcurrency, "maximum number of runs that perform effects at the same time")
	flags.IntVar(&f.namespaceConcurrency, "namespace-concurrency", 0, "maximum number of runs of one namespace that perform effects at the same time; 0 for no maximum")
	flags.StringArrayVar(&f.queues, "queue", nil, "task queue whose tasks the worker performs, or '*' for all (repeatable; default the queue default, or all queues with a file)")
	flags.StringVar(&f.drain, "drain", duration.Format(worker.DefaultDrain), "time for which effects in flight may continue when the worker is stopped")
	flags.StringVar(&f.lease, "lease", duration.Format(worker.DefaultLease), "time after the death of a worker at which other workers take over its runs")
	flags.StringVar(&f.parkAfter, "park-after", duration.Format(worker.DefaultParkAfter), "minimum length of a wait for which a run leaves the worker's memory; shorter waits are stored, too")
	flags.StringVar(&f.retention, "retention", "", "time after their end at which runs are deleted (default never)")
	flags.IntVar(&f.recoveryAttempts, "recovery-attempts", store.DefaultMaxDeaths, "number of workers that a run may lose at one step before it is quarantined (also SWRUN_RECOVERY_ATTEMPTS)")
	flags.StringVar(&f.checkInterval, "check-interval", duration.Format(worker.DefaultCheckInterval), "interval at which the indexes of the store are checked and repaired (also SWRUN_CHECK_INTERVAL)")
	flags.StringVar(&f.sweepInterval, "sweep-interval", duration.Format(worker.DefaultSweepInterval), "interval at which every run is compared with the indexes (also SWRUN_SWEEP_INTERVAL)")
	flags.IntVar(&f.scanLimit, "scan-limit", worker.DefaultScanLimit, "number of entries of an index that are compared at a time (also SWRUN_SCAN_LIMIT)")
	flags.StringVar(&f.memory, "effect-memory", "", "memory that the answers in flight may use, for example 2GiB (default a quarter of the memory of the machine; also SWRUN_EFFECT_MEMORY)")
	flags.StringVar(&f.secrets, "secrets", "", "file or folder of secrets, name: value (also SWRUN_SECRET_<NAME>)")
	flags.StringVar(&f.js, "js", "quickjs", "engine of JavaScript: quickjs or node")
	flags.BoolVar(&f.processes, "allow-processes", false, "allow tasks to run shell commands and scripts on this machine")
	flags.BoolVar(&f.containers, "allow-containers", false, "allow tasks to run containers with Docker or Podman of this machine")
	flags.StringArrayVar(&f.volumes, "allow-volume", nil, "folder of this machine, or volume, that containers may mount (repeatable)")
	flags.BoolVar(&f.files, "allow-files", false, "allow tasks to read files of this machine as external resources")
	flags.BoolVar(&f.publish, "print-events", false, "print the events that runs emit, one per line")
	flags.StringVar(&f.logLevel, "log-level", "info", "level of the log: debug, info, warn or error")
	flags.StringArrayVar(&f.limits, "limit", nil, "limit NAME=VALUE, for example input=8MiB (repeatable; also "+limitsVariable+")")
	f.host.add(cmd, swrun.NetworkPublic)
	completeValues(cmd, "log-level", []string{"debug", "info", "warn", "error"})
}

// logTo makes the log of a worker and its store, without secrets.
func (f *workerFlags) logTo(p *program) (err error) {
	var values map[string]any
	if p.secrets, values, err = takeSecrets(p.env, f.secrets); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usagef("allowed: debug, info, warn, error", "--log-level: unknown value %q", f.logLevel)
	}
	text := slog.NewTextHandler(maskedWriter{p.err, p.secrets.Hide}, &slog.HandlerOptions{Level: level, ReplaceAttr: utc})
	f.log = slog.New(audit.Keep(text))
	if f.drafts {
		f.log = slog.New(audit.Lower(text))
	}
	f.rereads = &rereader{secrets: p.secrets, name: f.secrets, log: f.log, values: values}
	return nil
}

// utc lets a log write times in UTC, as all other output does.
func utc(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.LevelKey {
		return audit.LevelName(groups, a)
	}
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

func (o *operation) work(ctx context.Context, f *workerFlags) error {
	engine, err := o.worker(ctx, f)
	if err != nil {
		return err
	}
	defer o.answerOthers(ctx, o.store, engine.Engine, f.log, func(*control.Control) {})()
	return o.workBeside(ctx, engine, f)
}

// worker returns an engine that works according to the flags.
func (o *operation) worker(ctx context.Context, f *workerFlags) (*tracedEngine, error) {
	if err := f.fromEnvironment(o.program); err != nil {
		return nil, err
	}
	config, err := o.engineConfig(f)
	if err != nil {
		return nil, err
	}
	config.Observe = f.observe
	traced := &tracedEngine{}
	if traced.tracer, err = o.trace(ctx, f, func() *swrun.Engine { return traced.Engine }); err != nil {
		return nil, err
	}
	if traced.tracer != nil {
		config.Trace = traced.tracer.Observe
	}
	traced.Engine, err = swrun.NewEngine(o.store.Store, config)
	return traced, optionUsage("worker", f.variables, err)
}

// optionUsage names the flag of a verb that an *swrun.OptionError is about, or the variable that gave the flag its value; other errors stay unchanged.
func optionUsage(verb string, variables map[string]string, err error) error {
	var option *swrun.OptionError
	if errors.As(err, &option) {
		return usagef("swrun "+verb+" --help lists the allowed values", "%s %s", sourceOf(kebab(option.Option), variables), option.Detail)
	}
	return err
}

// sourceOf returns the variable that gave a flag its value, or the flag.
func sourceOf(flag string, variables map[string]string) string {
	return cmp.Or(variables[flag], "--"+flag)
}

func (o *operation) engineConfig(f *workerFlags) (swrun.EngineConfig, error) {
	c := swrun.EngineConfig{Queues: f.queues, Concurrency: f.concurrency, NamespaceConcurrency: f.namespaceConcurrency, RecoveryAttempts: f.recoveryAttempts, ScanLimit: f.scanLimit}
	bounds, err := o.limits(f.limits)
	if err != nil {
		return c, err
	}
	c.Host = swrun.Host{Secrets: o.secrets.Lookup, FormerSecrets: o.secrets.Former, AllowSecret: o.secrets.Allows, Node: f.js == "node", Files: f.files, Limits: bounds, Log: f.log}
	if err := cmp.Or(f.host.apply(o.program, "worker", &c.Host), f.allowContainers(&c.Host)); err != nil {
		return c, err
	}
	if f.processes {
		c.Host.Processes = o.processes
	}
	if f.publish {
		c.Host.Publish = o.printEvent
	}
	if c.Host.Memory, err = o.effectMemory(f.memory); err != nil {
		return c, err
	}
	for _, span := range []struct {
		flag, text string
		to         *time.Duration
	}{
		{"drain", f.drain, &c.Drain}, {"lease", f.lease, &c.Lease}, {"park-after", f.parkAfter, &c.ParkAfter}, {"retention", f.retention, &c.Retention},
		{"check-interval", f.checkInterval, &c.CheckInterval}, {"sweep-interval", f.sweepInterval, &c.SweepInterval},
	} {
		if *span.to, err = parseSpan(sourceOf(span.flag, f.variables), span.text); err != nil {
			return c, err
		}
	}
	for flag, d := range map[string]time.Duration{"lease": c.Lease, "check-interval": c.CheckInterval, "sweep-interval": c.SweepInterval} {
		if d == 0 {
			return c, usagef("for example 10s", "%s must be longer than nothing", sourceOf(flag, f.variables))
		}
	}
	c.ParkAfter, c.Drain = max(c.ParkAfter, time.Nanosecond), max(c.Drain, time.Nanosecond) // 0 means no time, and not the default
	return c, cmp.Or(oneOf("--js", f.js, "quickjs", "node"), atLeast("--concurrency", f.concurrency, 1),
		atLeast(sourceOf("recovery-attempts", f.variables), f.recoveryAttempts, 1), atLeast(sourceOf("scan-limit", f.variables), f.scanLimit, 1))
}

// fromEnvironment takes the settings of checks and of recovery from the environment, unless a flag sets them.
func (f *workerFlags) fromEnvironment(p *program) error {
	f.variables = map[string]string{}
	for _, flag := range []string{"check-interval", "sweep-interval", "scan-limit", "recovery-attempts"} {
		variable := "SWRUN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		value, _ := p.env(variable)
		if value == "" || f.given.Changed(flag) {
			continue
		}
		if err := f.given.Set(flag, value); err != nil {
			return usagef("it must be a value of --"+flag, "%s: %s is not allowed", variable, shorten.Quoted(value))
		}
		f.variables[flag] = variable
	}
	return nil
}

// allowContainers lets a host run containers, if the flags allow them.
func (f *workerFlags) allowContainers(h *swrun.Host) error {
	if f.containers {
		h.Containers = &swrun.Containers{Volumes: f.volumes}
	} else if len(f.volumes) > 0 {
		return usagef("", "--allow-volume needs --allow-containers")
	}
	return nil
}

// atLeast refuses a number that is too small; source is its flag or its variable of the environment.
func atLeast(source string, n, least int) error {
	if n < least {
		return usagef("", "%s must be at least %d, got %d", source, least, n)
	}
	return nil
}

func (o *operation) printEvent(_ context.Context, event map[string]any) error {
	return api.Write(o.out, event)
}
