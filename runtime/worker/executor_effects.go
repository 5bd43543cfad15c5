package worker

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/effect"
)

// This file is how a holding performs effects: it waits for a slot, starts attempts, and takes in their ends.

// landing is the end of an effect, or why its performer has failed as such.
type landing struct {
	interpreter.Finished
	attempt *effect.Attempt
	failed  error
}

// slot returns where to ask for a slot; nil if none is needed.
func (h *executor) slot() chan<- struct{} {
	if h.slotted || len(h.waiting) == 0 && !h.session.Actions().Place {
		return nil
	}
	return h.partition.w.slots.places
}

// performAll starts the effects that wait, if there is a slot. If there is none, the instance's timers go on so long.
func (h *executor) performAll() {
	select {
	case h.slot() <- struct{}{}:
		h.placed()
	default:
	}
	if h.slot() == nil {
		h.endure(false)
	} else if h.patience.IsZero() {
		h.endure(true)
	}
	if h.slotted {
		for _, e := range h.waiting {
			h.perform(e)
		}
		h.waiting = nil
	}
}

// endure begins or ends waiting for a slot.
func (h *executor) endure(begins bool) {
	w := h.partition.w
	switch {
	case begins:
		h.patience = w.c.Now().Add(w.patience())
		w.waiting.Add(1)
	case !h.patience.IsZero():
		h.patience = time.Time{}
		w.waiting.Add(-1)
	}
}

// placed takes in that there is a slot.
func (h *executor) placed() {
	h.slotted = true
	h.session.Placed()
}

// drain makes the session end as soon as nothing is in flight. What waits for a slot is left to another worker, unless
// it is known to be started: then no other would.
func (h *executor) drain() {
	unbegun := h.waiting
	h.waiting = slices.DeleteFunc(slices.Clone(unbegun), func(e interpreter.Effect) bool { return !e.AtMostOnce })
	h.session.Drain(unbegun...)
}

// perform starts an effect.
func (h *executor) perform(e interpreter.Effect) {
	w := h.partition.w
	a := effect.New(h.ctx, h, w.memory, e, h.program.Performer(e.Kind))
	w.flights.begin(a, h.instance, w.c.Now())
	if e.Detached { // it goes on without the instance
		w.detached.Add(1)
		go func() {
			if a.PerformUntil(w.effects) {
				w.detached.Done()
			}
		}()
		return
	}
	h.attempts[e.ID] = a
	select {
	case h.resting <- a:
	default:
		h.flights.Add(1)
		go h.performEach(a)
	}
}

// performEach performs one effect after the other: a goroutine that has done so once has the stack that it takes.
func (h *executor) performEach(a *effect.Attempt) {
	for a.Perform() {
		select {
		case a = <-h.resting:
		case <-h.ctx.Done():
			h.flights.Done()
			return
		}
	}
}

// Ended hands the end of an effect to the instance, if it waits for it.
func (h *executor) Ended(a *effect.Attempt, result any, err error) {
	defer h.partition.w.flights.end(a)
	e := a.Effect()
	if e.Detached || err != nil && a.Cancelled() {
		a.FreeMemory()
		return
	}
	end := landing{attempt: a, Finished: interpreter.Finished{Effect: e.ID, Result: result, Error: errors.AsError(err)}}
	if err != nil && end.Error == nil { // which is no matter of the workflow
		end.failed = fmt.Errorf("perform %s of %s: %w", e.Kind, e.Request.Path, err)
	}
	select {
	case h.landed <- end:
	case <-h.ctx.Done():
		a.FreeMemory()
	}
}

// Abandoned stops waiting for the goroutine of an attempt.
func (h *executor) Abandoned(a *effect.Attempt) {
	if a.Effect().Detached {
		h.partition.w.detached.Done()
	} else {
		h.flights.Done()
	}
}

func (h *executor) cancel(id interpreter.EffectID) {
	if a := h.attempts[id]; a != nil {
		a.Cancel(effect.ErrUnwanted)
		delete(h.attempts, id)
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(e interpreter.Effect) bool { return e.ID == id })
}
