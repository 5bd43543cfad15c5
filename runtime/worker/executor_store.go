package worker

import (
	"context"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// The calls of an executor to the store.

// load loads the program of the run.
func (x *executor) load(ctx context.Context, digest string) error {
	call, cancel := context.WithTimeout(ctx, store.HangTolerance/4) // short, so that a stopping worker is noticed
	p, err := x.partition.w.programs.Program(call, digest)
	cancel()
	if err == nil {
		x.failures = 0
		return x.execution.Loaded(p)
	}
	x.execution.NotLoaded(err)
	if a := x.execution.Actions(); a.Load != "" && !a.Done {
		x.failures++
		x.wait(ctx, min(backoff(x.failures), x.partition.clock.until(a.CallAt)))
	}
	return nil
}

// commit sends a commit, and waits before the execution has it sent again.
func (x *executor) commit(ctx context.Context, c *store.Commit) {
	if c.Releases() {
		x.releasing(true)
	}
	w := x.partition.w
	sent := w.c.Now()
	done, err := w.c.Store.Commit(ctx, *c) // ctx ends when the run is lost
	w.c.Figures.answered(w.c.Now().Sub(sent), err)
	var refusal *store.Refusal
	switch {
	case err == nil:
		x.stored(c, done)
		x.activitiesEnded(ctx, c)
	case errors.As(err, &refusal):
		x.refused(ctx, refusal)
	}
	x.execution.Committed(done, err)
	if a := x.execution.Actions(); a.Commit != c || a.Done {
		x.failures = 0
		if c.Releases() && !a.Done {
			x.releasing(false)
		}
		return
	}
	if ctx.Err() == nil {
		x.failures++
		x.Log().Warn("a commit was not stored; it is tried again", "error", err)
		x.wait(ctx, backoff(x.failures))
	}
}

// stored reports the result of a commit.
func (x *executor) stored(c *store.Commit, done store.Committed) {
	x.freeMemory()
	x.refusals = 0
	x.partition.clock.update(done.At)
	x.works(c.Wake, c.Deadline)
	x.partition.w.c.Figures.count(c, x.execution.Actions().History)
	x.logStored(c)
	if c.Release {
		x.partition.due(c.Wake)
	}
	for _, a := range c.Activities {
		if a.To != nil {
			x.partition.due(a.To.Due)
		}
	}
	if len(c.Outbox) > 0 || c.Release && (c.Ready || done.Mail) {
		x.partition.nudge()
	}
	observe, trace := x.partition.w.c.Observe, x.partition.w.c.Trace
	for _, step := range x.execution.Actions().History {
		if observe != nil {
			observe(c.Instance, step.Events)
		}
		if trace != nil {
			trace(c.Instance, x.execution.Invocation(), step.Events)
		}
	}
}

// activitiesEnded returns the permits of attempts that ended with a commit. If this fails, the next process that wants a permit recovers
// them.
func (x *executor) activitiesEnded(ctx context.Context, c *store.Commit) {
	if len(c.Activities) == 0 {
		return
	}
	if err := x.partition.w.permits.gate.Changed(ctx, c.Instance, c.Activities); err != nil && ctx.Err() == nil {
		x.partition.w.permits.failed(err)
	}
}

func (x *executor) refused(ctx context.Context, r *store.Refusal) {
	x.refusals++
	switch r.Code {
	case store.TooEarly:
		x.partition.clock.reset(r.At)
		x.wait(ctx, min(time.Millisecond<<min(x.refusals, 8), 200*time.Millisecond))
	case store.RolledBack:
		x.partition.nudge()
	}
	x.partition.clock.update(r.At)
}

// freeMemory returns the memory reserved for results that are stored, or will be stored by another owner.
func (x *executor) freeMemory() {
	for _, a := range x.unstored {
		a.FreeMemory()
	}
	clear(x.unstored)
	x.unstored = x.unstored[:0]
}

func (x *executor) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// claimAgain returns the run as it is stored, if it is still held.
func (x *executor) claimAgain(ctx context.Context) (*store.Claimed, error) {
	for failures := 1; ; failures++ {
		call, cancel := context.WithTimeout(ctx, x.partition.w.c.Lease)
		claimed, err := x.partition.w.c.Store.Claim(call, store.Claim{
			Partition: x.partition.n, Instances: []store.Instance{x.instance},
			Worker: x.partition.w.c.Name, Nonce: x.token.Nonce, Lease: x.partition.w.c.Lease,
		})
		cancel()
		switch {
		case err == nil && (len(claimed) == 0 || claimed[0].Token != x.token):
			return nil, execution.ErrLeaseLost
		case err == nil:
			x.partition.clock.update(claimed[0].At)
			x.works(claimed[0].Lifecycle.Wake, claimed[0].Lifecycle.Deadline)
			return &claimed[0], nil
		case context.Cause(ctx) != nil:
			return nil, context.Cause(ctx)
		}
		x.wait(ctx, backoff(failures))
	}
}

func (x *executor) reload(ctx context.Context) error {
	c, err := x.claimAgain(ctx)
	if err != nil {
		return err
	}
	return x.execution.Reloaded(c)
}

func (x *executor) fetch(ctx context.Context) error {
	c, err := x.claimAgain(ctx)
	if err != nil {
		return err
	}
	return x.execution.Fetched(c.Inbox)
}
