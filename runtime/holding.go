package runtime

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// holding is an instance that a worker holds: it does what the instance's session wants.
type holding struct {
	partition *partition
	instance  Instance
	token     Token
	session   *Session        // nil until it is known what the instance runs
	ctx       context.Context // ends when the instance is lost
	revoke    context.CancelCauseFunc
	mailed    chan struct{}
	landed    chan landing
	resting   chan *attempt // goroutines that perform effects, and have none
	flights   sync.WaitGroup
	attempts  map[interpreter.EffectID]*attempt // whose ends it waits for
	alarm     *time.Timer                       // made once it is needed
	slotted   bool                              // it may perform effects
	stopping  <-chan struct{}                   // closed when the worker drains, and then when it leaves
	releasing atomic.Bool                       // a commit that gives the token back is on its way
	waiting   []interpreter.Effect              // for a slot
	patience  time.Time                         // when it is given back for want of one; zero if it needs none
	performed []*attempt                        // whose results are not stored

	mu    sync.Mutex
	asked time.Time // when the lease that is trusted was asked for
}

// landing is the end of an effect, or why its performer has failed as such.
type landing struct {
	interpreter.Finished
	attempt *attempt
	failed  error
}

// errLost is why a holding ends when its lease cannot be trusted any more.
var errLost = errors.New("the lease is lost")

// hold runs a claimed instance until it waits, ends or is lost.
func (p *partition) hold(c Claimed, sent time.Time, slotted bool) {
	h := &holding{
		partition: p, instance: c.Instance, token: c.Token, mailed: make(chan struct{}, 1), landed: make(chan landing), resting: make(chan *attempt),
		attempts: map[interpreter.EffectID]*attempt{}, asked: sent, slotted: slotted, stopping: p.w.draining,
	}
	h.ctx, h.revoke = context.WithCancelCause(p.w.effects)
	defer func() {
		h.endure(false)
		h.revoke(errUnwanted)
		for _, a := range h.attempts {
			a.stop(context.Cause(h.ctx))
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
	case errors.Is(err, errLost), RefusedAs(err) == Fenced, RefusedAs(err) == Closed:
		log.Info("an instance was taken over", "reason", err)
	default:
		log.Error("run an instance", "error", err)
	}
}

func (h *holding) begin(c Claimed) error {
	info, err := ParseInfo(c.Info)
	if err != nil {
		return err
	}
	w := h.partition.w
	program, err := h.program(c, info.Definition)
	if err != nil {
		return err
	}
	config := SessionConfig{Clock: h.partition.clock.estimate, Linger: w.c.Linger, Visible: w.c.Visible, Limits: w.c.Limits, Idle: w.c.Concurrency < 0}
	h.session = NewSession(config, c, info, program)
	if !h.slotted {
		h.session.Unplaced()
	}
	h.logClaimed(&c.Record)
	return h.session.Begin(c)
}

// program returns what the instance runs. As long as the store cannot tell, it is asked again; then the instance is given
// back, since that is no fault of it.
func (h *holding) program(c Claimed, digest string) (*interpreter.Program, error) {
	w := h.partition.w
	until := h.trusted()    // however often the lease is renewed
	if c.Record.Wake != 0 { // by when its owner must have done something
		if at := w.c.Now().Add(h.partition.clock.until(Moment(c.Record.Wake)) + Grace/2); at.Before(until) {
			until = at
		}
	}
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(h.ctx, Grace/4) // so that it is not overlooked that the worker leaves
		p, err := w.programs.program(ctx, digest)
		cancel()
		var unknown *unavailableError
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

// giveBack lets go of an instance as it was claimed.
func (h *holding) giveBack(c Claimed) error {
	w := h.partition.w
	ctx, cancel := context.WithTimeout(h.ctx, w.c.Lease/5)
	defer cancel()
	_, err := w.c.Store.Commit(ctx, c.Record.giveBack(c.Instance, c.Token, h.partition.clock.estimate()))
	return err
}

// run does what the session wants until it is over.
func (h *holding) run() error {
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
			h.session.wants.Mail = true
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
func (h *holding) act() (done bool, err error) {
	s := h.session
	for {
		h.detach()
		if lost := context.Cause(h.ctx); lost != nil {
			return false, lost
		}
		if !h.partition.w.c.Now().Before(h.trusted()) {
			return false, errLost // this process may have stood still
		}
		wants := s.Wants()
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
func (h *holding) detach() {
	wants := h.session.Wants()
	for _, e := range wants.Perform {
		if e.Detached {
			h.perform(e)
		}
	}
	wants.Perform = slices.DeleteFunc(wants.Perform, func(e interpreter.Effect) bool { return e.Detached })
}

// stop makes the session drain, and the next time leave.
func (h *holding) stop() {
	if h.stopping == h.partition.w.leaving {
		h.stopping = nil
		h.session.HandOver(h.waiting...)
		return
	}
	h.stopping = h.partition.w.leaving
	h.drain()
}

// heed stops if it is time to.
func (h *holding) heed() {
	select {
	case <-h.stopping:
		h.stop()
	default:
	}
}

// timer returns a channel that is ready when the session wants to be called.
func (h *holding) timer() <-chan time.Time {
	at := h.session.wants.Tick
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
func (h *holding) tick() {
	if !h.patience.IsZero() && !h.partition.w.c.Now().Before(h.patience) {
		h.endure(false)
		h.partition.leave(h.instance)
		h.session.HandOver(h.waiting...)
		return
	}
	h.session.Tick()
}

// commit stores what the session wants to be stored. It repeats the same operation while it is not answered and the
// lease can be trusted.
func (h *holding) commit() {
	c := h.session.wants.Commit
	h.releasing.Store(c.Release || c.Status.Final())
	defer h.releasing.Store(false)
	for failures := 1; ; failures++ {
		done, err := h.partition.w.c.Store.Commit(h.ctx, *c) // which ends when the lease cannot be trusted any more
		var refusal *Refusal
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
func (h *holding) free() {
	for _, a := range h.performed {
		a.reserved.end()
	}
	clear(h.performed)
	h.performed = h.performed[:0]
}

// stored tells what a commit has done.
func (h *holding) stored(c *Commit, done Committed) {
	h.free()
	h.partition.clock.hear(done.At)
	h.logStored(c)
	if c.Release {
		h.partition.due(c.Wake)
	}
	if len(c.Outbox) > 0 || c.Release && (c.Ready || done.Mail) {
		h.partition.nudge()
	}
	if observe := h.partition.w.c.Observe; observe != nil {
		for _, e := range h.session.batch.entries {
			observe(c.Instance, e.Records)
		}
	}
}

func (h *holding) refused(r *Refusal) {
	switch r.Code {
	case Guard:
		h.partition.clock.reset(r.At)
		h.wait(min(time.Millisecond<<min(h.session.refused, 8), 200*time.Millisecond))
	case RolledBack:
		h.partition.nudge()
	}
	h.partition.clock.hear(r.At)
}

func (h *holding) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-h.ctx.Done():
	case <-timer.C:
	}
}

// claimAgain returns the instance as it is stored, if it is still held.
func (h *holding) claimAgain() (Claimed, error) {
	s := h.session
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithDeadline(h.ctx, h.trusted())
		claimed, err := h.partition.w.c.Store.Claim(ctx, Claim{
			Partition: h.partition.n, Instances: []Instance{s.instance}, Nonce: s.token.Nonce, Lease: h.partition.w.c.Lease,
		})
		cancel()
		switch {
		case err == nil && (len(claimed) == 0 || claimed[0].Token != s.token):
			return Claimed{}, errLost
		case err == nil:
			h.partition.clock.hear(claimed[0].At)
			return claimed[0], nil
		case context.Cause(h.ctx) != nil:
			return Claimed{}, context.Cause(h.ctx)
		case !h.partition.w.c.Now().Before(h.trusted()):
			return Claimed{}, errLost
		}
		h.wait(backoff(failures))
	}
}

func (h *holding) reload() error {
	c, err := h.claimAgain()
	if err != nil {
		return err
	}
	return h.session.Reloaded(c)
}

func (h *holding) fetch() error {
	c, err := h.claimAgain()
	if err != nil {
		return err
	}
	return h.session.Mail(c.Inbox)
}

// slot returns where to ask for a slot; nil if none is needed.
func (h *holding) slot() chan<- struct{} {
	if h.slotted || len(h.waiting) == 0 && !h.session.wants.Place {
		return nil
	}
	return h.partition.w.slots.places
}

// performAll starts the effects that wait, if there is a slot. If there is none, the instance's timers go on so long.
func (h *holding) performAll() {
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
func (h *holding) endure(begins bool) {
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
func (h *holding) placed() {
	h.slotted = true
	h.session.Placed()
}

// drain makes the session end as soon as nothing is in flight. What waits for a slot is left to another worker, unless
// it is known to be started: then no other would.
func (h *holding) drain() {
	var kept []interpreter.Effect
	for _, e := range h.waiting {
		if e.Once {
			kept = append(kept, e)
		} else {
			delete(h.session.flights, e.ID)
			h.session.state.Hold(e.ID)
		}
	}
	h.waiting = kept
	h.session.Drain()
}

// perform starts an effect.
func (h *holding) perform(e interpreter.Effect) {
	w := h.partition.w
	a := newAttempt(h.ctx, h, w.memory, e)
	a.run, a.do, a.since = h.instance, h.session.program.Performer(e.Kind), w.c.Now()
	w.flights.begin(a)
	if e.Detached { // it goes on without the instance
		w.detached.Add(1)
		go func() {
			if a.performUntil(w.effects) {
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
func (h *holding) performEach(a *attempt) {
	for a.perform() {
		select {
		case a = <-h.resting:
		case <-h.ctx.Done():
			h.flights.Done()
			return
		}
	}
}

// ended hands the end of an effect to the instance, if it waits for it.
func (h *holding) ended(a *attempt, result any, err error) {
	defer h.partition.w.flights.end(a)
	e := a.effect
	if e.Detached || err != nil && a.ctx.Err() != nil {
		a.reserved.end()
		return
	}
	end := landing{attempt: a, Finished: interpreter.Finished{Effect: e.ID, Result: result, Error: errors.AsError(err)}}
	if err != nil && end.Error == nil { // which is no matter of the workflow
		end.failed = fmt.Errorf("perform %s of %s: %w", e.Kind, e.Request.Path, err)
	}
	select {
	case h.landed <- end:
	case <-h.ctx.Done():
		a.reserved.end()
	}
}

func (h *holding) abandoned(a *attempt) {
	if a.effect.Detached {
		h.partition.w.detached.Done()
	} else {
		h.flights.Done()
	}
}

func (h *holding) cancel(id interpreter.EffectID) {
	if a := h.attempts[id]; a != nil {
		a.stop(errUnwanted)
		delete(h.attempts, id)
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(e interpreter.Effect) bool { return e.ID == id })
	delete(h.session.flights, id)
}

// ring says that there is mail.
func (h *holding) ring() {
	select {
	case h.mailed <- struct{}{}:
	default: // it looks anyway
	}
}

// trusted returns until when, by this process's clock, the lease can be relied on: it counts from when it was asked
// for, and ends before the store's.
func (h *holding) trusted() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	lease := h.partition.w.c.Lease
	return h.asked.Add(lease - lease/5)
}

func (h *holding) sent() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

func (h *holding) extend(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = sent
}
