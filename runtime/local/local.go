// Package local runs one workflow in memory, on real or virtual time, with nothing kept: it drives the interpreter itself, and
// the workflows that the run starts run beside it. The commands that try, test and explain workflows use it. It never
// touches a store.
package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/effect"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures a run in memory. The zero value runs on the real clock and shows nothing.
type Config struct {
	ID string // of the run; a new UUID if empty
	// ExecutionTimeout, RunTimeout and Deadline are the timeouts of a start; see execution.Invocation.
	ExecutionTimeout, RunTimeout time.Duration
	Deadline                     time.Time
	Now                          func() time.Time // default time.Now
	// Virtual runs on virtual time: it stops while the run works, passes as usual while only effects are in flight, and jumps to the next
	// wake-up otherwise.
	Virtual bool
	// Observe is called with every history event of the run in order, never concurrently.
	Observe func(interpreter.HistoryEvent)
	// Outlasting is called when the run ended and Run waits for detached work, with the positions of the tasks that started it.
	Outlasting func([]interpreter.Path)
	// Workflows resolves run.workflow tasks; nil knows no other workflow.
	Workflows Workflows
	// Log is for effects that do not end when they are cancelled; default discards.
	Log    *slog.Logger
	Memory int64 // bytes that everything effects read may take; default 1 GiB
	// Arrivals are the events for the run and the workflows that it starts; events that they emit are delivered as well.
	Arrivals []Arrival
	// Live brings further events until it is closed; nil for none.
	Live <-chan Arrival
}

// Workflows finds a program by identity; version is a semantic version or "latest". An unknown one is an error of
// type configuration.
type Workflows func(namespace, name, version string) (*interpreter.Program, *errors.Error)

// Run runs p to its end; a nil input is absent, which is an empty object (semantics 3.3). When ctx ends, the run is cancelled, and Run
// returns once every effect stopped, or was given up because it did not stop. Detached effects and workflows are waited for. The error is a
// failure of the host, or a *ListeningError; errors of the workflow are in the outcome.
func Run(ctx context.Context, p *interpreter.Program, input any, c Config) (execution.Outcome, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ID == "" {
		c.ID = uuid.Must(uuid.NewV7()).String()
	}
	if input == nil {
		input = map[string]any{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	l := &local{
		Config: c, clock: newClock(c), finished: make(chan finishedEffect), limits: p.Limits(),
		memory: effect.NewMemory(cmp.Or(c.Memory, effect.DefaultMemory)), attempts: map[*effect.Attempt]bool{},
		arrivals: newArrivals(c),
	}
	root := l.start(p, c.ID, nil)
	root.observe, l.root = c.Observe, root
	info := execution.Invocation{Input: interpreter.Value{V: input}, ExecutionTimeout: c.ExecutionTimeout, RunTimeout: c.RunTimeout, Deadline: c.Deadline}
	now := l.clock.now()
	l.post(root, info.Start(p, store.Lifecycle{Created: now, Started: now}))
	err := l.drive(ctx)
	if err != nil {
		l.stop(err)
	}
	return execution.NewOutcome(root.state, root.endedAt), cmp.Or(err, l.drain(ctx))
}

// local is a family of runs in memory: the first run and the runs started by it.
type local struct {
	Config
	clock     *clock
	root      *familyRun
	runs      []*familyRun             // that did not end
	pending   []delivery               // events to step next
	attempts  map[*effect.Attempt]bool // whose ends have not been received
	finished  chan finishedEffect
	memory    *effect.Memory
	inFlight  sync.WaitGroup
	limits    limits.Set
	tasks     int   // that were started
	asked     int64 // starts of runs on the day askedOn
	askedOn   int64
	aborted   bool
	arrivals  arrivals
	published chan struct{} // closed when the event emitted last is out; nil before the first
}

// familyRun is one run of the family.
type familyRun struct {
	program *interpreter.Program
	state   *interpreter.State
	cancels map[interpreter.EffectID]context.CancelCauseFunc
	// activities are the activities that wait for a worker.
	activities map[interpreter.EffectID]*store.Activity
	again      bool
	endedAt    time.Time
	parent     *waiting         // nil for the run itself and for detached children
	beside     *waiting         // the task of the run with which it ends, although the task does not wait for it; nil for none
	by         interpreter.Path // the task that started a detached child
	observe    func(interpreter.HistoryEvent)
}

// waiting is a task that waits for a child workflow.
type waiting struct {
	run    *familyRun
	effect interpreter.EffectID
}

// delivery is an event on its way to a run.
type delivery struct {
	run   *familyRun
	event interpreter.Event
}

type finishedEffect struct {
	run     *familyRun
	event   interpreter.Finished
	attempt *effect.Attempt // holds memory until the run has taken in the result
	host    error
}

func (l *local) start(p *interpreter.Program, id string, parent *waiting) *familyRun {
	i := &familyRun{
		program: p, state: interpreter.NewState(p.Workflow.Document.Namespace, id), parent: parent,
		cancels: map[interpreter.EffectID]context.CancelCauseFunc{}, activities: map[interpreter.EffectID]*store.Activity{},
	}
	l.runs = append(l.runs, i)
	return i
}

// post queues the event ev for i after the current step.
func (l *local) post(i *familyRun, ev interpreter.Event) {
	l.pending = append(l.pending, delivery{i, ev})
}

// drive steps the runs until all ended.
func (l *local) drive(ctx context.Context) error {
	for len(l.runs) > 0 {
		if ctx.Err() != nil {
			l.cancelAll(ctx)
			return nil
		}
		ready, err := l.stepReady(ctx)
		if err != nil {
			return err
		}
		if ready {
			continue
		}
		if err := l.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stepReady steps the runs that have work now, and reports whether there were any.
func (l *local) stepReady(ctx context.Context) (bool, error) {
	for _, i := range l.runs {
		if err := l.expireActivities(i); err != nil {
			return false, err
		}
		wake := i.state.NextWake()
		if i.again || !wake.IsZero() && !l.clock.now().Before(wake) {
			l.post(i, interpreter.Due{})
		}
	}
	l.deliverTimed()
	if len(l.pending) == 0 && l.deliverWaiting() {
		return true, nil
	}
	ready := l.pending
	l.pending = nil
	for _, d := range ready {
		if !d.run.state.Status.Final() {
			l.step(ctx, d.run, d.event)
		}
	}
	return len(ready) > 0, nil
}

// wait returns after the next event: an effect ended, a wake-up is due, or ctx ended.
func (l *local) wait(ctx context.Context) error {
	wake := l.nextWake()
	if len(l.attempts) == 0 && l.Virtual && !wake.IsZero() && l.arrivals.live == nil {
		l.jump(wake)
		return nil
	}
	if len(l.attempts) == 0 && wake.IsZero() && l.arrivals.live == nil {
		if l.listens() {
			return l.listening()
		}
		return fmt.Errorf("run %s: nothing can go on: no effect is in flight and no wake-up is due", l.ID)
	}
	var due <-chan time.Time
	if !wake.IsZero() {
		timer := time.NewTimer(wake.Sub(l.clock.now()))
		defer timer.Stop()
		due = timer.C
	}
	passed := l.clock.pass()
	defer passed()
	select {
	case <-ctx.Done():
	case <-due:
	case arrival, open := <-l.arrivals.live:
		if !open {
			l.arrivals.live = nil
			break
		}
		l.arrivals.add(arrival)
	case f := <-l.finished:
		passed()
		return l.receive(f)
	}
	return nil
}

// jump moves virtual time to the next wake-up, unless the run takes too long for it.
func (l *local) jump(wake time.Time) {
	if err := l.limits.Check(limits.VirtualYears, wake.Year()-l.clock.began.Year()); err != nil && !l.aborted {
		l.abort(err)
		return
	}
	l.clock.jump(wake)
}

// count counts the tasks of a run on virtual time. Virtual time stops while the run works, so that no timeout ends a loop that never waits.
func (l *local) count(tasks int) {
	if !l.Virtual {
		return
	}
	l.tasks += tasks
	if err := l.limits.Check(limits.VirtualTasks, l.tasks); err != nil {
		l.abort(err)
	}
}

func (l *local) nextWake() (next time.Time) {
	next = l.arrivals.nextAt(l.clock.began)
	for _, i := range l.runs {
		next = interpreter.Earlier(next, interpreter.Earlier(i.state.NextWake(), i.nextDue()))
	}
	return next
}

func (l *local) receive(f finishedEffect) error {
	delete(l.attempts, f.attempt)
	defer f.attempt.FreeMemory()
	if f.host != nil {
		return f.host
	}
	delete(f.run.cancels, f.event.Effect)
	switch e := f.attempt.Effect(); {
	case e.Route == interpreter.RoutePublish && f.event.Error == nil:
		l.publish(e)
	case !e.Detached:
		l.post(f.run, f.event)
	}
	return nil
}

// step advances a run and starts its effects.
func (l *local) step(ctx context.Context, i *familyRun, ev interpreter.Event) {
	result := interpreter.Step(i.program, i.state, ev, l.clock.now())
	i.again = result.Again
	if f, ok := ev.(interpreter.Finished); ok && result.Migrated() {
		i.program = f.Successor.Program
	}
	if i.observe != nil {
		for _, r := range result.History {
			i.observe(r)
		}
	}
	for _, id := range result.Cancels { // children end before any of them could start another
		if cancel := i.cancels[id]; cancel != nil {
			cancel(interpreter.ErrUnwanted)
			delete(i.cancels, id)
		}
		delete(i.activities, id)
	}
	for _, e := range result.Effects {
		l.perform(ctx, i, e)
	}
	l.count(result.TasksStarted)
	if i.state.Status.Final() {
		l.end(i)
	}
}

// end takes a run out of the family and answers its parent.
func (l *local) end(i *familyRun) {
	for at, other := range l.runs {
		if other == i {
			l.runs = append(l.runs[:at], l.runs[at+1:]...)
			break
		}
	}
	i.endedAt = l.clock.now()
	if i == l.root {
		l.tellOutlasting()
	}
	if i.parent == nil {
		l.tellBeside(i)
		return
	}
	event := interpreter.Finished{Effect: i.parent.effect}
	event.Result, event.Error = execution.NewOutcome(i.state, i.endedAt).Result()
	if event.Error != nil {
		event.Error = event.Error.With(interpreter.MemberRun, i.state.Namespace+"/"+i.state.ID)
	}
	delete(i.parent.run.cancels, i.parent.effect)
	l.post(i.parent.run, event)
}

// tellOutlasting reports the work that continues although the run ended.
func (l *local) tellOutlasting() {
	var by []interpreter.Path
	for a := range l.attempts {
		if e := a.Effect(); e.Detached && e.Route != interpreter.RoutePublish { // an event is published in a moment
			by = append(by, e.Request.Path)
		}
	}
	for _, i := range l.runs {
		if i.by != "" {
			by = append(by, i.by)
		}
	}
	if len(by) > 0 && l.Outlasting != nil {
		slices.Sort(by)
		l.Outlasting(by)
	}
}

// abort ends the run, and everything that it has started, with an error that nothing in it can catch.
func (l *local) abort(why *errors.Error) {
	if l.aborted {
		return
	}
	l.aborted = true
	for _, i := range slices.Clone(l.runs) {
		l.post(i, interpreter.Abort{Error: why})
	}
}

// cancelAll cancels the runs and their effects, since ctx ended.
func (l *local) cancelAll(ctx context.Context) {
	cause := context.Cause(ctx)
	for len(l.runs) > 0 {
		l.step(ctx, l.runs[0], interpreter.Cancel{Reason: cause.Error()})
	}
	l.stop(cause)
}

// stop cancels the effects in flight.
func (l *local) stop(cause error) {
	for a := range l.attempts {
		a.Cancel(cause)
	}
}

// drain waits for the effects that are still in flight, and cancels them when ctx ends. The error is the first failure of the
// host.
func (l *local) drain(ctx context.Context) (failed error) {
	cancelled := ctx.Done()
	done := make(chan struct{})
	go func() { l.inFlight.Wait(); close(done) }()
	for {
		select {
		case f := <-l.finished:
			f.attempt.FreeMemory() // others may wait for it
			failed = cmp.Or(failed, f.host)
		case <-cancelled:
			cancelled = nil
			l.stop(context.Cause(ctx))
		case <-done:
			return failed
		}
	}
}
