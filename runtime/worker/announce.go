package worker

import (
	"context"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
)

// about returns the worker's announcement of itself.
func (c *Config) about() presence.Worker {
	about := c.About
	about.Name, about.Concurrency = c.Name, max(c.Concurrency, 0)
	return about
}

// has reports whether the worker meets the need of an effect. A worker that performs no effects leaves them to others anyway.
func (w *Worker) has(n store.Need) bool {
	return !w.c.Selective && !n.IsReserved() || w.about.Has(n)
}

// begins returns the function that decides whether an effect may begin; nil for a worker that performs no effects.
func (w *Worker) begins(ask func(interpreter.EffectID, string) bool) func(interpreter.EffectID, string) bool {
	if w.c.Concurrency < 0 {
		return nil
	}
	return ask
}

// announce announces the worker with its load until ctx ends.
func (w *Worker) announce(ctx context.Context) {
	a := presence.Announcer{Store: w.c.Store, Worker: w.about, Load: w.load, Failed: func(err error) {
		w.c.Log.Warn("the worker could not announce itself; it is tried again", "error", err)
	}}
	a.Run(ctx, w.draining)
}

// load returns the load of the worker.
func (w *Worker) load() presence.Load {
	load := presence.Load{Held: int(w.held.Load()), Performing: len(w.slots.slots), PerQueue: w.attempts.perQueue()}
	select {
	case <-w.draining:
		load.Draining = true
	default:
	}
	return load
}
