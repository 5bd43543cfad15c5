package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// maxEnding is how long an effect may take to end once it is cancelled: longer than the processes of a task, which have a
// grace of their own.
const maxEnding = 5 * time.Second

// perform performs an effect, and gives it up if it goes on for too long after ctx has ended: what heeds nothing holds
// nobody. Its goroutine is then the only one that nobody waits for, and the log tells of it.
func perform(ctx context.Context, log *slog.Logger, e interpreter.Effect, do interpreter.Performer) (any, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	type ending struct {
		result any
		err    error
	}
	ended := make(chan ending, 1)
	go func() {
		result, err := contained(ctx, do, e.Request)
		ended <- ending{result, err}
	}()
	select {
	case end := <-ended:
		return end.result, end.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(maxEnding)
	defer timer.Stop()
	select {
	case end := <-ended:
		return end.result, end.err
	case <-timer.C:
		log.Error("an effect is given up: it has been told to end and goes on", "kind", string(e.Kind), "task", e.Request.Path, "told", maxEnding, "reason", context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
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
