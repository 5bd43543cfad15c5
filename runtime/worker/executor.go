package worker

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/effect"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// executor drives the execution of a claimed run: it reports events to the execution, and carries out its actions.
type executor struct {
	partition *partition
	instance  store.Instance
	token     store.Token
	execution *execution.Execution
	revoke    context.CancelCauseFunc // the run is lost
	over      <-chan struct{}         // closed when the run is lost, or its execution is over
	stopping  <-chan struct{}         // closed when the worker drains, and then when it leaves
	mail      chan struct{}
	reports   chan *execution.Report
	alarm     *time.Timer // made once it is needed

	attempts   map[interpreter.EffectID]*attempt // whose ends the execution waits for
	ended      chan ending
	idle       chan *attempt // goroutines for effects that are idle
	performing sync.WaitGroup
	unstored   []*attempt                       // whose results are not stored
	permits    map[interpreter.EffectID]*permit // of effects that did not begin

	reserved *permit  // that it was claimed with; nil once it is used
	waited   bool     // it was claimed since it waited for something that the worker has
	room     *limiter // of which it has a place until it is over
	slotted  bool     // it may perform effects
	share    *share   // of its namespace in the slots; nil without a bound
	shared   bool     // it has a slot of that
	waiting  bool     // it is counted as waiting for a slot
	noted    bool     // that it works, in the worker's busy
	failures int      // of the same call, in a row
	refusals int      // of its commits, in a row
}

type attempt = effect.Attempt

// newExecutor returns the executor of a claimed run, and its context with the values of ctx.
func (p *partition) newExecutor(ctx context.Context, c *store.Claimed, room *limiter) (x *executor, execute func()) {
	x = &executor{
		partition: p, instance: c.Instance, token: c.Token, stopping: p.w.draining, mail: make(chan struct{}, 1),
		attempts: map[interpreter.EffectID]*attempt{}, ended: make(chan ending), idle: make(chan *attempt),
		reports: make(chan *execution.Report, maxReports), room: room,
	}
	ctx, x.revoke = context.WithCancelCause(context.WithoutCancel(ctx))
	x.over = ctx.Done()
	return x, func() { x.execute(ctx, c) }
}

// execute runs the claimed run until it waits, ends or is lost, which ends ctx.
func (x *executor) execute(ctx context.Context, c *store.Claimed) {
	growStack()
	defer x.close(ctx)
	defer func() {
		if v := recover(); v != nil { // the run is given up, and quarantined if this is repeated
			x.unregister(true)
			x.Log().Error("a run could not be worked on", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	err := x.run(ctx, c)
	x.unregister(err != nil && ctx.Err() == nil)
	switch {
	case err == nil:
	case errors.Is(err, execution.ErrLeaseLost), store.RefusedAs(err) == store.Fenced, store.RefusedAs(err) == store.Closed:
		x.Log().Info("this worker has lost a run", "reason", err)
		if store.RefusedAs(err) != store.Closed {
			x.partition.w.c.Figures.Lost.Add(1)
		}
	default:
		x.Log().Error("a run could not be worked on", "error", err)
	}
}

// stackSize is the approximate stack size of a run's goroutine.
const stackSize = 8 << 10

// growStack grows the stack of a goroutine in one step. Growing it later, with many calls on it, takes longer and happens twice.
//
//go:noinline
func growStack() {
	var room [stackSize]byte
	runtime.KeepAlive(&room)
}

// errLeft is the cause of the cancellation of effects that continue elsewhere.
var errLeft = errors.New("the run has left this worker")

// close ends effects in flight, and returns the resources of the executor.
func (x *executor) close(ctx context.Context) {
	x.rests()
	x.stopWaiting()
	x.revoke(errLeft)
	for _, a := range x.attempts {
		a.Cancel(context.Cause(ctx))
	}
	x.freeMemory()
	x.freePermits(func(interpreter.EffectID) bool { return true })
	x.performing.Wait()
	if x.slotted && x.room != x.partition.w.slots {
		x.partition.w.slots.release(1)
	}
	x.room.release(1)
	x.leaveShare()
	x.partition.w.shares.leave(x.share)
}

// loadWithin is how long a run is held without its program being loaded.
const loadWithin = 8 * time.Second

// run drives the execution until it is over.
func (x *executor) run(ctx context.Context, c *store.Claimed) (err error) {
	w := x.partition.w
	config := execution.Config{
		Clock: x.partition.clock.estimate, LoadWithin: loadWithin, ParkAfter: w.c.ParkAfter,
		CheckpointAfter: w.c.CheckpointAfter, Limits: w.c.Limits, Idle: w.c.Concurrency < 0, Late: w.c.Figures.Late.Observe,
		Has: w.has, Lingers: &w.lingers, Waits: x.waitsAside(), StepWaits: x.stepWaits,
		Begins: w.begins(func(id interpreter.EffectID, queue string) bool { return x.begins(ctx, id, queue) }),
	}
	if x.execution, err = execution.New(config, c); err != nil {
		return err
	}
	x.works(c.Lifecycle.Wake, c.Lifecycle.Deadline)
	if x.room == w.slots {
		x.gotSlot()
	}
	w.c.Figures.claimed(&c.Lifecycle)
	x.logClaimed(&c.Lifecycle)
	for {
		done, err := x.act(ctx)
		if done || err != nil {
			return err
		}
		if len(x.permits) > 0 || x.reserved != nil && x.execution.Program() != nil {
			x.freePermits(func(id interpreter.EffectID) bool { return !x.execution.Awaits(id) })
		}
		if err := x.await(ctx); err != nil {
			return err
		}
	}
}

// act carries out the actions of the execution until there are no more actions at present.
func (x *executor) act(ctx context.Context) (done bool, err error) {
	for err == nil {
		x.report(ctx)
		a := x.execution.Actions()
		for _, id := range take(&a.Cancel) {
			x.cancel(id)
		}
		for _, e := range take(&a.Perform) {
			x.perform(ctx, e)
		}
		if a.Resting {
			a.Resting = false
			x.leaveSlot()
		}
		if a.Yield {
			a.Yield = false
			x.partition.leave(x.instance)
		}
		switch {
		case x.ask(a.AskSlot):
		case a.Done:
			return true, a.Failed
		case a.Load != "":
			err = x.load(ctx, a.Load)
		case a.Reload:
			err = x.reload(ctx)
		case a.Commit != nil:
			x.commit(ctx, a.Commit)
		case a.Fetch:
			a.Fetch = false
			err = x.fetch(ctx)
		default:
			return false, nil
		}
	}
	return false, err
}

func take[T any](all *[]T) []T {
	taken := *all
	*all = nil
	return taken
}

// await waits for the next thing that happens, and reports it.
func (x *executor) await(ctx context.Context) error {
	free, timer := x.freeSlot(), x.timer()
	x.rests()
	select {
	case <-ctx.Done(): // the report decides
	case end := <-x.ended:
		x.works(x.execution.Awaited())
		return x.finished(end)
	case <-x.mail:
		x.works(x.execution.Awaited())
		x.execution.MailArrived()
	case r := <-x.reports:
		x.works(x.execution.Awaited())
		x.reported(r)
	case free <- struct{}{}:
		x.works(x.execution.Awaited())
		x.tookSlot()
	case <-timer:
		x.works(x.execution.Awaited())
		x.execution.TimePassed()
	case <-x.stopping:
		x.works(x.execution.Awaited())
		x.stop()
	}
	return nil
}

// report reports to the execution if the lease is lost, or the worker stops.
func (x *executor) report(ctx context.Context) {
	if !x.trust(ctx) {
		x.execution.LeaseLost(cmp.Or(context.Cause(ctx), execution.ErrLeaseLost))
		return
	}
	if why := context.Cause(ctx); why != nil {
		x.execution.LeaseLost(why)
		return
	}
	select {
	case <-x.stopping:
		x.stop()
	default:
	}
}

// stop makes the execution drain, and the next time leave.
func (x *executor) stop() {
	if x.stopping == x.partition.w.leaving {
		x.stopping = nil
		x.execution.Leave()
		return
	}
	x.stopping = x.partition.w.leaving
	x.execution.Drain()
}

// timer returns a channel that is ready when the execution is to be called.
func (x *executor) timer() <-chan time.Time {
	at := x.execution.Actions().CallAt
	if at.IsZero() {
		return nil
	}
	left := x.partition.clock.until(at)
	if x.alarm == nil {
		x.alarm = time.NewTimer(left)
	} else {
		x.alarm.Reset(left)
	}
	return x.alarm.C
}

// mailArrived reports that there is mail; any goroutine may call it.
func (x *executor) mailArrived() {
	select {
	case x.mail <- struct{}{}:
	default: // it looks anyway
	}
}
