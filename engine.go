package swrun

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/schedule"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// EngineConfig configures an Engine. The zero value is useful.
type EngineConfig struct {
	Host        Host
	Concurrency int // maximum number of runs that perform something at a time; default 1000
	// NamespaceConcurrency is the maximum number of these runs that belong to one namespace; default 0 is no maximum.
	NamespaceConcurrency int
	Lease                time.Duration // time after which the runs of a dead worker are taken over; default 3s
	Drain                time.Duration // time for effects in flight when Work is stopped; default 30s
	ParkAfter            time.Duration // shorter waits stay in memory, and are stored anyway; default 1s
	Retention            time.Duration // time after which ended runs are deleted; default never
	// RecoveryAttempts is the number of workers that may be lost at one step of a run before the run is quarantined; default 5.
	RecoveryAttempts int
	CheckInterval    time.Duration // time between two checks and repairs of the indexes of the store; default 40s
	SweepInterval    time.Duration // time in which every run is compared with the indexes, a few at a time; default 10m
	ScanLimit        int           // number of runs, or of entries of an index, that are compared at a time; default 1000
	// Queues are the task queues whose tasks this engine performs, "*" for all. The default is the default queue alone, or all queues on a store that
	// only this process uses. Other engines perform tasks of other queues, and tasks that need more than Host grants.
	Queues []string
	// Observe is called with the history events of each step of a run, in order, after they are stored.
	Observe func(store.Instance, []interpreter.HistoryEvent)
	// Trace is called with the same events, and with the start of the run. With Trace, HTTP calls carry the header traceparent, which names the span of
	// their task (execution.SpanID). Nil traces nothing.
	Trace func(store.Instance, *execution.Invocation, []interpreter.HistoryEvent)
}

// Engine starts runs in a store, commands and describes them, and works on them. Each process that shares the store has its own engine; a process
// that only starts, commands or describes runs need not call Work. Several goroutines may use an engine.
type Engine struct {
	store      *Store
	config     EngineConfig
	env        *environment
	client     *client.Client
	figures    *worker.Figures
	events     *events.Bus
	activities *matching.Matcher // also serves the outside workers that poll through this engine
	schedules  *schedule.Schedules
	functions  *function.Functions           // deployed in the store
	gate       *queue.Gate                   // to the task queues, for all tasks that this process performs or hands out
	worker     atomic.Pointer[worker.Worker] // the worker in progress, or nil
}

// Transport returns a transport that sends requests only to the addresses that Host.Network allows.
func (e *Engine) Transport() http.RoundTripper { return e.env.transport }

// maxCount is the maximum of the counts of an EngineConfig.
const maxCount = 10_000

// minInterval is the minimum time between two checks of one index. With a shorter time, the store would do nothing else.
const minInterval = time.Second

// minLease is the minimum of Lease. A working process may pause for longer than a shorter lease.
const minLease = time.Second

func (c EngineConfig) check() error {
	switch {
	case c.Concurrency < 0:
		return &OptionError{"Concurrency", fmt.Sprintf("must not be negative, got %d", c.Concurrency)}
	case c.NamespaceConcurrency < 0 || c.NamespaceConcurrency > cmp.Or(c.Concurrency, worker.DefaultConcurrency):
		return &OptionError{"NamespaceConcurrency", fmt.Sprintf("must be from 1 to the concurrency, which is %d, got %d", cmp.Or(c.Concurrency, worker.DefaultConcurrency), c.NamespaceConcurrency)}
	case c.RecoveryAttempts < 0 || c.RecoveryAttempts > maxCount:
		return &OptionError{"RecoveryAttempts", fmt.Sprintf("must be from 1 to %d, got %d", maxCount, c.RecoveryAttempts)}
	case c.ScanLimit < 0 || c.ScanLimit > maxCount:
		return &OptionError{"ScanLimit", fmt.Sprintf("must be from 1 to %d, got %d", maxCount, c.ScanLimit)}
	case c.Lease != 0 && c.Lease < minLease:
		return &OptionError{"Lease", fmt.Sprintf("must be at least %s, got %s", minLease, c.Lease)}
	}
	for _, queue := range c.Queues {
		if queue != presence.AllQueues && dsl.CheckQueue(queue) != nil {
			return &OptionError{"Queues", fmt.Sprintf("must be at most 128 letters and digits, with . _ - inside, or *, got %q", queue)}
		}
	}
	for _, span := range []struct {
		name string
		d    time.Duration
	}{{"Drain", c.Drain}, {"ParkAfter", c.ParkAfter}, {"Retention", c.Retention}} {
		if span.d < 0 {
			return &OptionError{span.name, fmt.Sprintf("must not be negative, got %s", span.d)}
		}
	}
	for name, d := range map[string]time.Duration{"CheckInterval": c.CheckInterval, "SweepInterval": c.SweepInterval} {
		if d != 0 && d < minInterval {
			return &OptionError{name, fmt.Sprintf("must be at least %s, got %s", minInterval, d)}
		}
	}
	return nil
}

// NewEngine returns an engine on a store. An invalid configuration is an *OptionError.
func NewEngine(s *Store, c EngineConfig) (*Engine, error) {
	if s == nil || s.Store == nil {
		return nil, &OptionError{"store", "is missing: open one with OpenStore"}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	functions := function.New(s, time.Now)
	if c.Host.Functions == nil {
		c.Host.Functions = functions.Load
	}
	e, err := c.Host.environment(c.Concurrency, s.places)
	if err != nil {
		return nil, err
	}
	engine := &Engine{store: s, config: c, env: e, functions: functions, gate: queue.NewGate(s, time.Now), figures: worker.NewFigures()}
	engine.schedules = schedule.New(schedule.Config{Store: s, Start: engine.startScheduled, Compile: e.compileHere, Now: time.Now, Log: e.host.Log})
	engine.client = client.New(client.Config{
		Store: s, Compile: e.compileHere, Workers: s.Workers, Limits: c.Host.Limits, ErrorAliases: c.Host.ErrorAliases, Deploying: engine.schedules.Reserve, Deployed: engine.schedules.Deployed,
	})
	engine.events = events.NewBus(s, func(ctx context.Context, e events.Event, to events.Audience) (events.Started, error) {
		heard, err := engine.schedules.Publish(ctx, schedule.Event(e), to.Has)
		return startedBy(heard), err
	}, c.Host.Limits)
	engine.events.Places = e.places
	engine.activities = matching.New(matching.Config{
		Store: s, Due: engine.activityDue, Report: engine.reportActivity, Gate: engine.gate, Log: e.host.Log, MadeUp: &engine.figures.MadeUp,
	})
	engine.figures.Repair = engine.workerConfig().RepairSettings()
	return engine, nil
}

// activityDue wakes the worker in time for an activity.
func (e *Engine) activityDue(partition int, at time.Time) {
	if w := e.worker.Load(); w != nil {
		w.Expect(partition, at)
	}
}

// reportActivity passes the end of an attempt to the run, if the run is in the worker's memory.
func (e *Engine) reportActivity(ctx context.Context, r matching.Report) (stored bool) {
	w := e.worker.Load()
	return w != nil && w.Report(ctx, r.ID, r.Activity, r.Operation)
}

// Figures returns the counters of the runs that the engine has worked on.
func (e *Engine) Figures() *worker.Figures { return e.figures }

// Client returns the client of the engine, which lists, describes and commands many runs at the same time.
func (e *Engine) Client() *client.Client { return e.client }

// Activities returns the matcher that outside workers poll and report to, with the activities of the runs in the store. While this engine works, a
// new activity is found immediately, otherwise within a second.
func (e *Engine) Activities() *matching.Matcher { return e.activities }

// NotDeployedError is the error of a name under which no document is deployed.
type NotDeployedError struct {
	Workflow string // as requested
	err      error
}

func (e *NotDeployedError) Error() string {
	return "the workflow " + shorten.To(e.Workflow, maxListed) + " is not deployed"
}

// Unwrap returns the store's refusal.
func (e *NotDeployedError) Unwrap() error { return e.err }

// StartOptions are the options of a start besides workflow and input.
type StartOptions = client.StartOptions

// UnfitInputError is a start that is refused because `input.schema` of the workflow refuses the input. Nothing was started.
type UnfitInputError = client.UnfitInputError

// Start starts a run of a deployed workflow, by namespace/name or namespace/name:version, with an input of any Go type that encoding/json can write.
// The run continues in any process whose engine works on the store. An input that `input.schema` of the workflow refuses is an *UnfitInputError.
func (e *Engine) Start(ctx context.Context, workflow string, input any, o StartOptions) (*Run, error) {
	r, err := definition.ParseReference(workflow)
	if err != nil {
		return nil, err
	}
	data, err := inputOf(input)
	if err != nil {
		return nil, err
	}
	begun, err := e.client.Begin(ctx, r, data, o)
	switch store.RefusedAs(err) {
	case store.Conflict:
		return nil, &RunExistsError{Run: begun.Instance, err: err}
	case store.NoSuch:
		return nil, &NotDeployedError{workflow, err}
	}
	run, err := e.started(begun.Instance, err)
	if err == nil {
		run.Again = begun.Again
	}
	return run, err
}

// StartDocument starts a run of a document, whether or not it is deployed under its name. It deploys the workflows that the document's tasks run,
// which it looks for among the other documents, and then in the folder of the document. If a run of the same id, document, input and options exists,
// StartDocument returns that run.
func (e *Engine) StartDocument(ctx context.Context, d *Document, input any, o StartOptions, others ...*Document) (*Run, error) {
	data, err := inputOf(input)
	if err != nil {
		return nil, err
	}
	o.Reserved = o.Reserved && !e.store.local // on a local store there is no other worker
	made, err := d.definition(e.env)
	if err != nil {
		return nil, err
	}
	children, err := NewDocuments(append([]*Document{d}, others...)...).definitions(d, e.env)
	if err != nil {
		return nil, err
	}
	if err := e.deploy(ctx, children); err != nil {
		return nil, err
	}
	i, err := e.client.StartDefinition(ctx, made, data, o)
	if store.RefusedAs(err) == store.Conflict {
		return nil, e.exists(ctx, i, made, err)
	}
	return e.started(i, err)
}

func (e *Engine) started(i store.Instance, err error) (*Run, error) {
	if err != nil {
		return nil, err
	}
	return &Run{engine: e, Instance: i}, nil
}

// RunExistsError is the error of an id under which a different run exists.
type RunExistsError struct {
	Run     store.Instance
	Differs string // the difference from the requested start, if it is known
	err     error
}

func (e *RunExistsError) Error() string {
	if e.Differs != "" {
		return fmt.Sprintf("there is a run %s with %s", e.Run, e.Differs)
	}
	return fmt.Sprintf("there is a run %s already", e.Run)
}

// Unwrap returns the store's refusal.
func (e *RunExistsError) Unwrap() error { return e.err }

// exists returns the error of a document that is not started because a run of that id exists.
func (e *Engine) exists(ctx context.Context, i store.Instance, started definition.Definition, refusal error) error {
	l, err := e.store.Load(ctx, i)
	if err != nil {
		return err
	}
	invocation, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return err
	}
	differs := "another input, or other options"
	if invocation.First().Definition != started.Digest() {
		differs = "another document, or another version of this one"
	}
	return &RunExistsError{i, differs, refusal}
}

// Run returns a handle on the run of a namespace and id. It makes no request to the store: the run need not exist.
func (e *Engine) Run(namespace, id string) *Run {
	return &Run{engine: e, Instance: store.Instance{Namespace: namespace, ID: id}}
}

// Work works on the runs of the store until ctx ends. It then hands over idle runs immediately, and the others when their effects are ended or Drain
// is over. The process may be killed at any moment: the next worker continues its runs. The error means that the store is not reliable any more.
func (e *Engine) Work(ctx context.Context) error {
	return e.work(ctx, e.workerConfig(), nil, isDamage)
}

// WorkOn is Work for some runs and all runs that they start, and for no others. It ends with the first error of the store.
func (e *Engine) WorkOn(ctx context.Context, runs ...*Run) error {
	f, c := newFamily(e.store, runs), e.workerConfig()
	c.Selective, c.Compile = false, e.env.compileHere // there is no other worker for the rest
	c.Only = func(i store.Instance) bool { return f.has(ctx, i) }
	return e.work(ctx, c, f.roots, func(error) bool { return true })
}

// work runs a worker for all runs or, if its configuration is selective, for some runs and the runs that they start.
func (e *Engine) work(ctx context.Context, c worker.Config, some []store.Instance, ends func(error) bool) error {
	release, err := e.store.takeOver(ctx, e.env.host.Log)
	if err != nil {
		return err
	}
	defer release()
	if c.About.Runs = some; c.Only != nil {
		c.About.Queues = []string{presence.AllQueues} // it works on these runs, whatever queue they need
	}
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := e.store.failure(ctx, ends); err != nil {
			stop(&storeFailure{err})
		}
	})
	w := worker.New(c)
	e.worker.Store(w)
	if c.Only == nil {
		watching.Go(func() { e.schedules.Run(ctx) })
		watching.Go(func() { e.env.watchContainers(ctx) })
	} else {
		watching.Go(func() { e.env.watchUsedContainers(ctx) })
	}
	defer e.worker.Store(nil)
	c.Log.Info("the worker is ready", "name", w.Name(), "store", e.store.String(), "concurrency", c.Concurrency, "partitions", e.store.Layout().Partitions)
	w.Run(ctx)
	stop(nil)
	watching.Wait()
	var failed *storeFailure
	if errors.As(context.Cause(ctx), &failed) {
		return failed.error
	}
	e.env.close()
	c.Log.Info("the worker has handed over")
	return nil
}

type storeFailure struct{ error } // the error of Work on an unreliable store

func (e *Engine) workerConfig() worker.Config {
	c := e.config
	w := worker.Config{
		Store: e.store, Compile: e.compile, Changed: e.activities.Changed, Watched: e.activities.Watched,
		Concurrency: cmp.Or(c.Concurrency, worker.DefaultConcurrency), NamespaceConcurrency: c.NamespaceConcurrency,
		Lease: c.Lease, Drain: c.Drain, ParkAfter: c.ParkAfter,
		RecoveryAttempts: c.RecoveryAttempts, CheckInterval: c.CheckInterval, SweepInterval: c.SweepInterval, ScanLimit: c.ScanLimit,
		Retention: c.Retention, Limits: c.Host.Limits, Memory: e.env.host.Memory, Figures: e.figures, Log: e.env.host.Log,
		About: e.about(), Selective: true, Gate: e.gate,
	}
	if observe := c.Observe; observe != nil {
		w.Observe = func(i store.Instance, events []interpreter.HistoryEvent) {
			_ = withoutPanic(w.Log, "EngineConfig.Observe", func() error { observe(i, events); return nil }) // the panic is logged; the run continues
		}
	}
	if trace := c.Trace; trace != nil {
		w.Trace = func(i store.Instance, info *execution.Invocation, events []interpreter.HistoryEvent) {
			_ = withoutPanic(w.Log, "EngineConfig.Trace", func() error { trace(i, info, events); return nil }) // as above
		}
	}
	w.Publish = e.publish
	return w
}

// compile makes a definition ready to be worked on, and logs missing parts. The result is kept, so that they are logged once for each definition.
func (e *Engine) compile(d definition.Definition) (*interpreter.Program, error) {
	p, err := e.env.compile(d, true)
	if err != nil {
		return nil, err
	}
	about := e.about()
	missing := slices.DeleteFunc(p.Needs(), func(part string) bool { return about.Has(store.NewNeed(part)) })
	if len(missing) > 0 {
		e.env.host.Log.Warn("something is missing to perform all tasks of a workflow: they are left to workers that have it, and their deadlines are kept here",
			"workflow", p.Workflow.Document.String(), "needs", "a worker that "+client.NeedText(missing))
	}
	return p, nil
}

// about returns the description of this engine as a worker.
func (e *Engine) about() presence.Worker {
	host, _ := os.Hostname() // without a name, it stays empty
	about := presence.Worker{Version: Version(), Host: host, Process: os.Getpid(), Grants: e.env.grants(), Queues: e.config.Queues}
	switch {
	case len(about.Queues) > 0:
	case e.store.local: // there is no other worker for them
		about.Queues = []string{presence.AllQueues}
	default:
		about.Queues = []string{dsl.DefaultQueue}
	}
	return about
}
