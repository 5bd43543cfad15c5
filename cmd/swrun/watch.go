package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// This file connects a run to who watches it: signals and progress.

// interruptible returns a context that ends with the first signal, which the second result returns; a second signal
// then ends the process at once. Call the third result when the run is over.
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

// guarded makes a progress safe for the goroutine of the run and the one of the clock.
type guarded struct {
	mu   sync.Mutex
	view progress
}

func (g *guarded) observe(r interpreter.HistoryEvent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.observe(r)
}

func (g *guarded) publish(event map[string]any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.publish(event)
}

func (g *guarded) tick(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.tick(now)
}

func (g *guarded) end(o execution.Outcome, failed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.end(o, failed)
}

// startTicking has the view tick until the function that it returns is called.
func startTicking(view progress, now func() time.Time) func() {
	if _, ok := view.(silent); ok {
		return func() {}
	}
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(redrawEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				view.tick(now())
			case <-done:
				return
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}

// view returns what shows the run, and what has to see its records.
func (j *job) view(t *trail) (progress, func(interpreter.HistoryEvent)) {
	view := progress(silent{})
	if inner := j.progress(); inner != view {
		view = &guarded{view: inner}
	}
	return view, func(r interpreter.HistoryEvent) {
		r.Error = j.mask.fault(r.Error)
		t.observe(r)
		view.observe(r)
	}
}

func (j *job) progress() progress {
	p := j.program
	w := j.mask.writer(p.err)
	mode := j.flags.progress
	if mode == progressAuto {
		mode = progressNone
		if p.errTTY {
			mode = progressTree
		}
	}
	switch mode {
	case progressTree:
		term, _ := p.env("TERM")
		return &treeView{
			w: w, look: p.errStyle(), subject: j.subject, tree: newTree(j.subject.workflow), live: p.errTTY && term != "dumb",
			size: func() (int, int) { return p.width(), p.height() },
		}
	case progressLines:
		return newLines(w, j.subject, p.now)
	case progressJSON:
		return &lifecycle{w: p.err, subject: j.subject, mask: j.mask}
	}
	return silent{}
}
