package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// maxEnding is how long an effect may take to end once it is cancelled: longer than the processes of a task, which have a
// grace of their own.
const maxEnding = 5 * time.Second

// attempt is an effect to perform.
type attempt struct {
	ctx    context.Context // of the effect
	effect interpreter.Effect
	do     interpreter.Performer
	log    func() *slog.Logger
	end    func(result any, err error) // is told how it has ended, once
	leave  func()                      // is told after that if it goes on all the same: its goroutine is not to be waited for
}

// perform performs an effect, and gives it up if it goes on for too long after ctx has ended: what heeds nothing holds
// nobody. The calling goroutine is then the only one that nobody waits for, and the log tells of it; if perform returns after
// all, it returns false.
func (a *attempt) perform() (heeded bool) {
	ctx := a.ctx
	if ctx.Err() != nil {
		a.end(nil, context.Cause(ctx))
		return true
	}
	var told atomic.Bool
	over := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(maxEnding)
		defer timer.Stop()
		select {
		case <-over:
			return
		case <-timer.C:
		}
		if told.CompareAndSwap(false, true) {
			a.log().Error("an effect is given up: it has been told to end and goes on", "kind", string(a.effect.Kind), "task", a.effect.Request.Path, "told", maxEnding, "reason", context.Cause(ctx))
			a.end(nil, context.Cause(ctx))
			a.leave()
		}
	})
	result, err := contained(ctx, a.do, a.effect.Request)
	if !unwatch() {
		close(over)
	}
	if !told.CompareAndSwap(false, true) {
		return false
	}
	a.end(result, err)
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
