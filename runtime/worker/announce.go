package worker

import (
	"context"

	"github.com/swrun/swrun/runtime/presence"
)

// announce says that the worker is there, and what it does, until ctx ends.
func (w *Worker) announce(ctx context.Context) {
	about := w.c.About
	about.Name, about.Concurrency = w.c.Name, max(w.c.Concurrency, 0)
	a := presence.Announcer{Store: w.c.Store, Worker: about, Load: w.load, Failed: func(err error) {
		w.c.Log.Warn("the worker could not announce itself; it is tried again", "error", err)
	}}
	a.Run(ctx, w.draining)
}

// load returns what the worker does.
func (w *Worker) load() presence.Load {
	load := presence.Load{Held: int(w.held.Load()), Performing: len(w.slots.slots)}
	select {
	case <-w.draining:
		load.Draining = true
	default:
	}
	return load
}
