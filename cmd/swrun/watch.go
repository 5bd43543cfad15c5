package main

import (
	"context"
	"os"
	"sync"

	"github.com/swrun/swrun/errors"
)

// This file connects a run to its observers: signals and progress.

// interruptible returns a context that ends with the first signal, which the second result returns; a second signal then ends the process
// immediately. Call the third result when the run is over.
func (p *program) interruptible() (context.Context, func() os.Signal, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if p.signals == nil {
		return ctx, func() os.Signal { return nil }, func() { cancel(nil) }
	}
	signals, release := p.signals()
	done := make(chan struct{})
	received := make(chan os.Signal, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case s := <-signals:
			release()
			received <- s
			cancel(errors.New("the run was interrupted: " + s.String()))
		case <-done:
		}
	})
	interrupted := func() os.Signal {
		select {
		case s := <-received:
			return s
		default:
			return nil
		}
	}
	return ctx, interrupted, func() { close(done); watching.Wait(); release(); cancel(nil) }
}
