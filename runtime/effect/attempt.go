// Package effect performs the effects of runs, one attempt each: it contains panics, cancels attempts, gives up attempts that do not end
// when they are cancelled, and limits the memory of all effects. The worker and the local driver use it. It does not decide whether an
// effect is performed, and does not interpret its result.
package effect

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// maxEnding is how long an effect may take to end once it is cancelled: longer than the processes of a task, which are
// killed after 2 s.
const maxEnding = 5 * time.Second

// Attempt is one attempt to perform an effect.
type Attempt struct {
	effect  interpreter.Effect
	perform interpreter.Performer
	driver  Driver
	memory  reservation // of the driver's memory

	mu       sync.Mutex
	reason   error                      // why the attempt was cancelled; nil as long as it is not
	cancel   context.CancelCauseFunc    // ends the context of the effect; nil before it is performed
	giveUpAt atomic.Pointer[time.Timer] // set once the attempt is cancelled
	over     atomic.Bool                // the driver knows how it ended, or is about to
}

// Driver receives the results of an attempt.
type Driver interface {
	// Ended is called once, when the attempt ended or is given up.
	Ended(a *Attempt, result any, err error)
	// Abandoned is called after that if the attempt continues anyway: its goroutine must not be waited for.
	Abandoned(a *Attempt)
	Log() *slog.Logger
}

// New returns an attempt that was not started.
func New(d Driver, m *Memory, e interpreter.Effect, perform interpreter.Performer) *Attempt {
	a := &Attempt{driver: d, effect: e, perform: perform, memory: reservation{memory: m}}
	a.effect.Request.Memory = &a.memory
	return a
}

// Effect returns the effect.
func (a *Attempt) Effect() interpreter.Effect { return a.effect }

// Cancelled reports whether the attempt was cancelled before it ended.
func (a *Attempt) Cancelled() bool { return a.cause() != nil }

func (a *Attempt) cause() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason
}

// FreeMemory returns the memory that the attempt reserved: its result is stored, or no longer needed.
func (a *Attempt) FreeMemory() { a.memory.end() }

// Perform performs the effect until it ends, with the values of ctx. The attempt ends when it is cancelled, and not with ctx. If it is
// given up, the calling goroutine is no longer waited for, and Perform returns false when the effect finally ends.
func (a *Attempt) Perform(ctx context.Context) (ended bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	if why := a.begin(cancel); why != nil {
		return a.end(nil, why)
	}
	returned := false
	defer func() {
		if !returned { // runtime.Goexit ends this goroutine
			a.abandon(errors.New("it has ended its goroutine (runtime.Goexit)"))
		}
	}()
	result, err := a.contained(ctx)
	returned = true
	return a.end(result, err)
}

// begin notes how the effect is cancelled from now on. It returns why the attempt was cancelled before, if it was.
func (a *Attempt) begin(cancel context.CancelCauseFunc) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel = cancel
	return a.reason
}

// Cancel asks the attempt to end. If it continues for too long after that, it is given up, so that an effect that ignores its cancellation
// blocks no other work.
func (a *Attempt) Cancel(why error) {
	a.mu.Lock()
	if a.reason == nil {
		a.reason = why
	}
	if a.cancel != nil {
		a.cancel(why)
	}
	a.mu.Unlock()
	timer := time.AfterFunc(maxEnding, a.giveUp)
	if before := a.giveUpAt.Swap(timer); before != nil {
		before.Stop()
	}
	if a.over.Load() {
		timer.Stop()
	}
}

func (a *Attempt) giveUp() {
	if a.abandon(a.cause()) {
		a.driver.Log().Error("an effect is given up: it was cancelled and goes on", "kind", string(a.effect.Kind),
			"task", a.effect.Request.Path, "after", maxEnding, "reason", a.cause())
	}
}

// abandon reports to the driver that the attempt ended, and that its goroutine must not be waited for.
func (a *Attempt) abandon(why error) bool {
	if !a.over.CompareAndSwap(false, true) {
		return false
	}
	a.driver.Ended(a, nil, why)
	a.driver.Abandoned(a)
	return true
}

// end reports the result of the attempt to the driver, unless it was given up.
func (a *Attempt) end(result any, err error) bool {
	if !a.over.CompareAndSwap(false, true) {
		return false
	}
	if timer := a.giveUpAt.Load(); timer != nil {
		timer.Stop()
	}
	if err != nil && a.effect.Detached && !a.Cancelled() {
		a.tellFailure(err)
	}
	a.driver.Ended(a, result, err)
	return true
}

// tellFailure logs the failure of a detached effect, since it is reported nowhere else. Details of the error may be secret.
func (a *Attempt) tellFailure(err error) {
	what := "a failure of this program"
	if fault := errors.AsError(err); fault != nil {
		what = fault.Title
	}
	a.driver.Log().Warn("a task that nobody waits for has failed", "kind", string(a.effect.Kind), "task", a.effect.Request.Path, "error", what)
}

// contained performs the effect. A panic is an error of the performer as such; its stack is logged.
func (a *Attempt) contained(ctx context.Context) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %s", a.effect.Kind.Words(), shorten.Panic(v))
			a.driver.Log().Error("an effect panicked", "kind", string(a.effect.Kind), "task", a.effect.Request.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return a.perform(ctx, a.effect.Request)
}
