package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// maxEnding is how long an effect may take to end once it is cancelled: longer than the processes of a task, which have a
// grace of their own.
const maxEnding = 5 * time.Second

// attempt is an effect to perform.
type attempt struct {
	run      store.Instance
	effect   interpreter.Effect
	do       interpreter.Performer
	driver   attemptDriver
	since    time.Time   // by the driver's clock
	reserved reservation // of the driver's memory

	ctx    context.Context // of the effect; it ends when the attempt is told to end
	cancel context.CancelCauseFunc
	grace  atomic.Pointer[time.Timer] // runs once the attempt is told to end
	over   atomic.Bool                // the driver has been told how it ended, or is about to be
}

// attemptDriver is who an attempt is made for.
type attemptDriver interface {
	// ended is told how an attempt has ended, once.
	ended(a *attempt, result any, err error)
	// abandoned is told after that if it goes on all the same: its goroutine is not to be waited for.
	abandoned(a *attempt)
	log() *slog.Logger
}

// newAttempt returns an attempt whose context has the values of ctx, and ends when it is told to.
func newAttempt(ctx context.Context, d attemptDriver, m *memory, e interpreter.Effect) *attempt {
	a := &attempt{driver: d, effect: e, reserved: reservation{memory: m}}
	a.effect.Request.Memory = &a.reserved
	a.ctx, a.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return a
}

// performUntil is perform, and tells the effect to end with ctx.
func (a *attempt) performUntil(ctx context.Context) (heeded bool) {
	defer context.AfterFunc(ctx, func() { a.stop(context.Cause(ctx)) })()
	if ctx.Err() != nil {
		return a.end(nil, context.Cause(ctx))
	}
	return a.perform()
}

// perform performs an effect until it ends, or is told to. If it is given up meanwhile, the calling goroutine is the only one that
// nobody waits for any more, and perform returns false once it returns.
func (a *attempt) perform() (heeded bool) {
	if a.ctx.Err() != nil {
		return a.end(nil, context.Cause(a.ctx))
	}
	return a.end(contained(a.ctx, a.do, a.effect.Request))
}

// stop tells an attempt to end. If it goes on for too long after that, it is given up: what heeds nothing holds nobody.
func (a *attempt) stop(why error) {
	a.cancel(why)
	grace := time.AfterFunc(maxEnding, a.giveUp)
	if before := a.grace.Swap(grace); before != nil {
		before.Stop()
	}
	if a.over.Load() {
		grace.Stop()
	}
}

func (a *attempt) giveUp() {
	if !a.over.CompareAndSwap(false, true) {
		return
	}
	a.driver.log().Error("an effect is given up: it has been told to end and goes on", "kind", string(a.effect.Kind),
		"task", a.effect.Request.Path, "told", maxEnding, "reason", context.Cause(a.ctx))
	a.driver.ended(a, nil, context.Cause(a.ctx))
	a.driver.abandoned(a)
}

// end tells the driver how an attempt has ended, unless it has been given up.
func (a *attempt) end(result any, err error) bool {
	if !a.over.CompareAndSwap(false, true) {
		return false
	}
	if grace := a.grace.Load(); grace != nil {
		grace.Stop()
	}
	a.driver.ended(a, result, err)
	a.cancel(nil)
	return true
}

// contained performs a request; a panic is an error of the performer as such.
func contained(ctx context.Context, perform interpreter.Performer, r interpreter.Request) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return perform(ctx, r)
}
