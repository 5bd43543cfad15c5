package worker

import (
	"context"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// This file is how a holding stores what its session has decided, and reads what is stored.

// commit stores what the session wants to be stored. It repeats the same operation while it is not answered and the
// lease can be trusted.
func (h *executor) commit() {
	c := h.session.Actions().Commit
	h.releasing.Store(c.Release || c.Status.Final())
	defer h.releasing.Store(false)
	for failures := 1; ; failures++ {
		done, err := h.partition.w.c.Store.Commit(h.ctx, *c) // which ends when the lease cannot be trusted any more
		var refusal *store.Refusal
		switch {
		case err == nil:
			h.stored(c, done)
		case errors.As(err, &refusal):
			h.refused(refusal)
		case context.Cause(h.ctx) != nil:
			err = context.Cause(h.ctx)
		case !h.partition.w.c.Now().Before(h.trusted()), failures > 2 && h.partition.w.isLeaving(), failures > maxFailures:
			err = errors.Join(errLost, err)
		default:
			h.partition.w.c.Log.Warn("commit", "run", c.Instance.String(), "error", err)
			h.wait(backoff(failures))
			continue
		}
		h.session.Committed(done, err)
		return
	}
}

// maxFailures is how often a commit may fail, about a minute long, although the lease can be renewed. If it is for the
// commit itself, its instance is quarantined in the end (reliability.md 3.2).
const maxFailures = 30

// free gives back what was reserved for results that are stored, or will be by another owner.
func (h *executor) free() {
	for _, a := range h.performed {
		a.FreeMemory()
	}
	clear(h.performed)
	h.performed = h.performed[:0]
}

// stored tells what a commit has done.
func (h *executor) stored(c *store.Commit, done store.Committed) {
	h.free()
	h.refusals = 0
	h.partition.clock.hear(done.At)
	h.logStored(c)
	if c.Release {
		h.partition.due(c.Wake)
	}
	if len(c.Outbox) > 0 || c.Release && (c.Ready || done.Mail) {
		h.partition.nudge()
	}
	if observe := h.partition.w.c.Observe; observe != nil {
		for _, e := range h.session.Actions().History {
			observe(c.Instance, e.Events)
		}
	}
}

func (h *executor) refused(r *store.Refusal) {
	h.refusals++
	switch r.Code {
	case store.Guard:
		h.partition.clock.reset(r.At)
		h.wait(min(time.Millisecond<<min(h.refusals, 8), 200*time.Millisecond))
	case store.RolledBack:
		h.partition.nudge()
	}
	h.partition.clock.hear(r.At)
}

func (h *executor) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-h.ctx.Done():
	case <-timer.C:
	}
}

// claimAgain returns the instance as it is stored, if it is still held.
func (h *executor) claimAgain() (store.Claimed, error) {
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithDeadline(h.ctx, h.trusted())
		claimed, err := h.partition.w.c.Store.Claim(ctx, store.Claim{
			Partition: h.partition.n, Instances: []store.Instance{h.instance}, Nonce: h.token.Nonce, Lease: h.partition.w.c.Lease,
		})
		cancel()
		switch {
		case err == nil && (len(claimed) == 0 || claimed[0].Token != h.token):
			return store.Claimed{}, errLost
		case err == nil:
			h.partition.clock.hear(claimed[0].At)
			return claimed[0], nil
		case context.Cause(h.ctx) != nil:
			return store.Claimed{}, context.Cause(h.ctx)
		case !h.partition.w.c.Now().Before(h.trusted()):
			return store.Claimed{}, errLost
		}
		h.wait(backoff(failures))
	}
}

func (h *executor) reload() error {
	c, err := h.claimAgain()
	if err != nil {
		return err
	}
	return h.session.Reloaded(c)
}

func (h *executor) fetch() error {
	c, err := h.claimAgain()
	if err != nil {
		return err
	}
	return h.session.Mail(c.Inbox)
}
