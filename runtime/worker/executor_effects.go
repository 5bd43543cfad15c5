package worker

import (
	"context"
	"fmt"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/effect"
)

// The slots and the effects of an executor.

// ending is the result of an attempt, or the failure of its performer.
type ending struct {
	interpreter.Finished
	attempt *attempt
	failed  error
	lacks   *interpreter.NeedError // the missing need for which it is left to others; nil if it ended
}

// ask takes a slot if the execution asks for one and one is free now. It reports whether it took one.
func (x *executor) ask(asks bool) bool {
	slots := x.partition.w.slots
	switch {
	case !asks:
		x.stopWaiting()
		if !x.slotted {
			x.leaveShare()
		}
		return false
	case x.hasShare() && slots.tryAcquire():
		x.gotSlot()
		return true
	case !x.waiting:
		x.waiting = true
		slots.waiting.Add(1)
	}
	x.execution.NoSlot(int(slots.waiting.Load()))
	return false
}

// freeSlot returns the channel to wait on for a slot, of the namespace before one of the worker; nil if the execution needs none.
func (x *executor) freeSlot() chan<- struct{} {
	switch {
	case !x.execution.Actions().AskSlot:
		return nil
	case x.share != nil && !x.shared:
		return x.share.slots
	}
	return x.partition.w.slots.slots
}

// tookSlot reports that the awaited slot is taken.
func (x *executor) tookSlot() {
	if !x.shared {
		x.shared = true
		return // it asks for one of the worker next
	}
	x.gotSlot()
}

func (x *executor) gotSlot() {
	x.stopWaiting()
	x.slotted = true
	x.execution.SlotFree()
}

// waitsAside returns the function that moves the run to the places for waiting runs; nil for a worker that performs no effects.
func (x *executor) waitsAside() func() bool {
	w := x.partition.w
	if w.c.Concurrency < 0 {
		return nil
	}
	return func() bool {
		if x.room == w.waiting {
			return true
		}
		if !w.waiting.tryAcquire() {
			return false
		}
		if x.room != w.slots { // a slot that it has, it leaves when it rests
			x.room.release(1)
		}
		x.room = w.waiting
		return true
	}
}

// leaveSlot returns the slot of a run that performs nothing for a while. The run takes a place among the begun runs instead.
func (x *executor) leaveSlot() {
	w := x.partition.w
	if x.room == w.slots {
		if !w.begun.tryAcquire() {
			return
		}
		x.room = w.begun
	}
	w.slots.release(1)
	x.leaveShare()
	x.slotted = false
	x.execution.SlotLeft()
}

func (x *executor) stopWaiting() {
	if x.waiting {
		x.waiting = false
		x.partition.w.slots.waiting.Add(-1)
	}
}

// perform starts an attempt to perform an effect.
func (x *executor) perform(ctx context.Context, e interpreter.Effect) {
	w := x.partition.w
	if w.c.Trace != nil {
		e.Request.TraceParent = x.execution.Invocation().SpanParent(x.instance, e.Request.Path)
	}
	a := effect.New(x, w.memory, e, x.execution.Program().Performer(e.Kind))
	w.attempts.begin(a, x.instance, w.c.Now(), x.permits[e.ID])
	delete(x.permits, e.ID)
	if e.Detached { // it continues without the run
		w.detached.Add(1)
		go func() {
			if a.Perform(ctx) {
				w.detached.Done()
			}
		}()
		return
	}
	x.attempts[e.ID] = a
	select {
	case x.idle <- a:
	default:
		x.performing.Add(1)
		go x.performEach(ctx, a)
	}
}

// performEach performs one effect after the other: a goroutine that has done so once has the stack that it takes.
func (x *executor) performEach(ctx context.Context, a *attempt) {
	for a.Perform(ctx) {
		select {
		case a = <-x.idle:
		case <-ctx.Done():
			x.performing.Done()
			return
		}
	}
}

// Ended hands the end of an attempt to the goroutine of the executor, if the run waits for it.
func (x *executor) Ended(a *attempt, result any, err error) {
	defer x.partition.w.attempts.end(a)
	if p := x.partition.w.attempts.permit(a); p != nil { // the run itself may need it next
		x.partition.w.permits.end(p, true)
	}
	e := a.Effect()
	if e.Detached || err != nil && a.Cancelled() {
		a.FreeMemory()
		return
	}
	end := ending{attempt: a, Finished: interpreter.EndOf(e.ID, result, err)}
	if errors.As(err, &end.lacks) && (!x.partition.w.c.Selective || e.AtMostOnce) {
		end.lacks = nil // its end must be stored
	}
	if err != nil && end.Error == nil { // the workflow cannot catch it
		end.failed = fmt.Errorf("perform %s of %s: %w", e.Kind, e.Request.Path, err)
	}
	select {
	case x.ended <- end:
	case <-x.over:
		a.FreeMemory()
	}
}

// Abandoned stops waiting for the goroutine of an attempt.
func (x *executor) Abandoned(a *attempt) {
	if a.Effect().Detached {
		x.partition.w.detached.Done()
	} else {
		x.performing.Done()
	}
}

// finished reports the end of an attempt to the execution.
func (x *executor) finished(end ending) error {
	x.unstored = append(x.unstored, end.attempt)
	if end.failed != nil {
		return end.failed
	}
	delete(x.attempts, end.Effect)
	if end.lacks != nil {
		x.Log().Warn("a task is left to another worker: something is missing here to perform it", "task", string(end.attempt.Effect().Request.Path), "needs", end.lacks.Need)
		x.execution.Lacks(end.attempt.Effect(), end.lacks.Need)
		return nil
	}
	x.execution.Finished(end.Finished)
	return nil
}

func (x *executor) cancel(id interpreter.EffectID) {
	if a := x.attempts[id]; a != nil {
		why := interpreter.ErrUnwanted
		if x.execution.Awaits(id) { // it is begun again, elsewhere
			why = errLeft
		}
		a.Cancel(why)
		delete(x.attempts, id)
	}
}

// begins reports whether an effect of a queue may begin now, and keeps its permit until it does.
func (x *executor) begins(ctx context.Context, id interpreter.EffectID, queue string) bool {
	w := x.partition.w
	if queue == dsl.DefaultQueue && !w.takesDefault {
		return false
	}
	if x.permits[id] != nil {
		return true
	}
	p, ok := x.reserved, true
	if x.reserved = nil; p == nil || p.queue != queue {
		if p != nil {
			w.permits.end(p, false)
		}
		p, ok = w.permits.begin(ctx, queue, x.waited)
	}
	if p != nil {
		if x.permits == nil {
			x.permits = map[interpreter.EffectID]*permit{}
		}
		x.permits[id] = p
	}
	return ok
}

// freePermits gives back the permits of effects that will not begin here.
func (x *executor) freePermits(over func(interpreter.EffectID) bool) {
	for id, p := range x.permits {
		if over(id) {
			x.partition.w.permits.end(p, false)
			delete(x.permits, id)
		}
	}
	if p := x.reserved; p != nil { // the run did not need it
		x.partition.w.permits.end(p, false)
		x.reserved = nil
	}
}
