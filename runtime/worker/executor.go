package worker

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/effect"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// executor is an instance that a worker holds: it does what the instance's session wants.
type executor struct {
	partition *partition
	instance  store.Instance
	token     store.Token
	program   *interpreter.Program
	session   *execution.Execution // nil until it is known what the instance runs
	ctx       context.Context      // ends when the instance is lost
	revoke    context.CancelCauseFunc
	mailed    chan struct{}
	landed    chan landing
	resting   chan *effect.Attempt // goroutines that perform effects, and have none
	flights   sync.WaitGroup
	attempts  map[interpreter.EffectID]*effect.Attempt // whose ends it waits for
	alarm     *time.Timer                              // made once it is needed
	slotted   bool                                     // it may perform effects
	stopping  <-chan struct{}                          // closed when the worker drains, and then when it leaves
	releasing atomic.Bool                              // a commit that gives the token back is on its way
	waiting   []interpreter.Effect                     // for a slot
	patience  time.Time                                // when it is given back for want of one; zero if it needs none
	performed []*effect.Attempt                        // whose results are not stored
	refusals  int                                      // of its commits, in a row

	mu    sync.Mutex
	asked time.Time // when the lease that is trusted was asked for
}

// errLost is why a holding ends when its lease cannot be trusted any more.
var errLost = errors.New("the lease is lost")

// hold runs a claimed instance until it waits, ends or is lost.
func (p *partition) hold(c store.Claimed, sent time.Time, slotted bool) {
	h := &executor{
		partition: p, instance: c.Instance, token: c.Token, mailed: make(chan struct{}, 1), landed: make(chan landing), resting: make(chan *effect.Attempt),
		attempts: map[interpreter.EffectID]*effect.Attempt{}, asked: sent, slotted: slotted, stopping: p.w.draining,
	}
	h.ctx, h.revoke = context.WithCancelCause(p.w.effects)
	defer func() {
		h.endure(false)
		h.revoke(effect.ErrUnwanted)
		for _, a := range h.attempts {
			a.Cancel(context.Cause(h.ctx))
		}
		h.free()
		h.flights.Wait()
		if h.slotted && !slotted {
			p.w.slots.release(1)
		}
	}()
	log := p.w.c.Log.With("run", c.Instance.String())
	defer func() {
		if v := recover(); v != nil { // the instance is left to its lease, and quarantined if this goes on
			log.Error("run an instance", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	p.w.register(h)
	defer p.w.unregister(h)
	if err := h.begin(c); err != nil {
		log.Error("take up an instance", "error", err)
		return
	}
	switch err := h.run(); {
	case err == nil:
	case errors.Is(err, errLost), store.RefusedAs(err) == store.Fenced, store.RefusedAs(err) == store.Closed:
		log.Info("an instance was taken over", "reason", err)
	default:
		log.Error("run an instance", "error", err)
	}
}

func (h *executor) begin(c store.Claimed) error {
	info, err := execution.ParseInvocation(c.Invocation)
	if err != nil {
		return err
	}
	w := h.partition.w
	program, err := h.load(c, info.Definition)
	if err != nil {
		return err
	}
	config := execution.ExecutionConfig{Clock: h.partition.clock.estimate, ParkAfter: w.c.ParkAfter, CheckpointAfter: w.c.CheckpointAfter, Limits: w.c.Limits, Idle: w.c.Concurrency < 0}
	h.program = program
	h.session = execution.NewExecution(config, c, info, program)
	if !h.slotted {
		h.session.Unplaced()
	}
	h.logClaimed(&c.Lifecycle)
	return h.session.Begin(c)
}

// load returns what the instance runs. As long as the store cannot tell, it is asked again; then the instance is given
// back, since that is no fault of it.
func (h *executor) load(c store.Claimed, digest string) (*interpreter.Program, error) {
	w := h.partition.w
	until := h.trusted()       // however often the lease is renewed
	if c.Lifecycle.Wake != 0 { // by when its owner must have done something
		if at := w.c.Now().Add(h.partition.clock.until(store.Moment(c.Lifecycle.Wake)) + store.Grace/2); at.Before(until) {
			until = at
		}
	}
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(h.ctx, store.Grace/4) // so that it is not overlooked that the worker leaves
		p, err := w.programs.Program(ctx, digest)
		cancel()
		var unknown *definition.UnavailableError
		if err == nil || !errors.As(err, &unknown) {
			return p, err
		}
		if lost := context.Cause(h.ctx); lost != nil {
			return nil, lost
		}
		if left := until.Sub(w.c.Now()); left > 0 && !w.isLeaving() {
			h.wait(min(backoff(failures), left))
			continue
		}
		return nil, errors.Join(err, h.giveBack(c))
	}
}

// GiveBack lets go of an instance as it was claimed.
func (h *executor) giveBack(c store.Claimed) error {
	w := h.partition.w
	ctx, cancel := context.WithTimeout(h.ctx, w.c.Lease/5)
	defer cancel()
	_, err := w.c.Store.Commit(ctx, c.Lifecycle.GiveBack(c.Instance, c.Token, h.partition.clock.estimate()))
	return err
}

// run does what the session wants until it is over.
func (h *executor) run() error {
	for {
		done, err := h.act()
		if done || err != nil {
			return err
		}
		select {
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		case end := <-h.landed:
			h.performed = append(h.performed, end.attempt)
			if end.failed != nil {
				return end.failed
			}
			delete(h.attempts, end.Effect)
			h.session.Finished(end.Finished)
		case <-h.mailed:
			h.session.Actions().Mail = true
		case h.slot() <- struct{}{}:
			h.placed()
		case <-h.timer():
			h.tick()
		case <-h.stopping:
			h.stop()
		}
	}
}

// act does what the session wants now.
func (h *executor) act() (done bool, err error) {
	s := h.session
	for {
		h.detach()
		if lost := context.Cause(h.ctx); lost != nil {
			return false, lost
		}
		if !h.partition.w.c.Now().Before(h.trusted()) {
			return false, errLost // this process may have stood still
		}
		wants := s.Actions()
		h.waiting = append(h.waiting, wants.Perform...)
		wants.Perform = nil
		h.heed()
		for _, id := range wants.Cancel {
			h.cancel(id)
		}
		wants.Cancel = nil
		h.performAll()
		switch {
		case wants.Done:
			return true, wants.Failed
		case wants.Reload:
			err = h.reload()
		case wants.Commit != nil:
			h.commit()
		case wants.Mail:
			wants.Mail = false
			err = h.fetch()
		default:
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// detach starts the effects that nobody waits for. Nobody else knows of them: they are started also if the lease was lost
// after they had been stored.
func (h *executor) detach() {
	wants := h.session.Actions()
	for _, e := range wants.Perform {
		if e.Detached {
			h.perform(e)
		}
	}
	wants.Perform = slices.DeleteFunc(wants.Perform, func(e interpreter.Effect) bool { return e.Detached })
}

// stop makes the session drain, and the next time leave.
func (h *executor) stop() {
	if h.stopping == h.partition.w.leaving {
		h.stopping = nil
		h.session.HandOver(h.waiting...)
		return
	}
	h.stopping = h.partition.w.leaving
	h.drain()
}

// heed stops if it is time to.
func (h *executor) heed() {
	select {
	case <-h.stopping:
		h.stop()
	default:
	}
}

// timer returns a channel that is ready when the session wants to be called.
func (h *executor) timer() <-chan time.Time {
	at := h.session.Actions().Tick
	if at.IsZero() && h.patience.IsZero() {
		return nil
	}
	left := h.patience.Sub(h.partition.w.c.Now())
	if !at.IsZero() && (h.patience.IsZero() || h.partition.clock.until(at) < left) {
		left = h.partition.clock.until(at)
	}
	if h.alarm == nil {
		h.alarm = time.NewTimer(left)
	} else {
		h.alarm.Reset(left)
	}
	return h.alarm.C
}

// tick takes in that time has passed.
func (h *executor) tick() {
	if !h.patience.IsZero() && !h.partition.w.c.Now().Before(h.patience) {
		h.endure(false)
		h.partition.leave(h.instance)
		h.session.HandOver(h.waiting...)
		return
	}
	h.session.Tick()
}

// ring says that there is mail.
func (h *executor) ring() {
	select {
	case h.mailed <- struct{}{}:
	default: // it looks anyway
	}
}

// trusted returns until when, by this process's clock, the lease can be relied on: it counts from when it was asked
// for, and ends before the store's.
func (h *executor) trusted() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	lease := h.partition.w.c.Lease
	return h.asked.Add(lease - lease/5)
}

func (h *executor) sent() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

func (h *executor) extend(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = sent
}
