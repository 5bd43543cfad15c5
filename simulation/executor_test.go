package simulation

import (
	"context"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/store"
)

// executor drives an execution in the same way as the worker's executor: it reports events, and carries out the requested actions.
type executor struct {
	*execution.Execution
	busy       bool // an operation is in progress
	mail       bool // there may be messages in the inbox
	revoked    bool // another owner holds the run
	drained    bool // it knows that the owner drains
	left       bool // it knows that the owner leaves
	slotted    bool
	waits      bool // it holds a place for runs that wait
	performing map[interpreter.EffectID]bool
	ended      []interpreter.Finished
	reports    []*report
	gone       bool
	calling    time.Time
}

// newExecutor returns the executor of a run that was claimed; nil after a problem.
func (o *owner) newExecutor(c *store.Claimed, slotted bool) *executor {
	config := execution.Config{
		Clock: o.estimate, LoadWithin: time.Second, ParkAfter: time.Second, CheckpointAfter: 50 * time.Millisecond, Idle: o.slots == 0,
	}
	if o.w.kind == outside {
		config.Has, config.Lingers = o.has, lingering{}
	}
	waits := o.w.kind == receiving && o.slots > 0 && o.w.rng.IntN(4) > 0
	config.Waits = func() bool { return waits }
	made, err := execution.New(config, c)
	if err != nil {
		o.w.problem("%s: %s", c.Instance, err)
		return nil
	}
	return &executor{Execution: made, slotted: slotted, waits: waits, performing: map[interpreter.EffectID]bool{}}
}

// execute drives the execution of a run.
func (o *owner) execute(x *executor) {
	o.executors = append(o.executors, x)
	o.w.note("owner %d takes %s, epoch %d", o.n, x.Instance().ID, x.Token().Epoch)
	if x.slotted {
		x.SlotFree()
	}
	o.act(x)
}

// act carries out the actions of an execution, unless an operation of it is in progress.
func (o *owner) act(x *executor) {
	for !x.busy && !x.gone && !o.waits(x) {
		o.report(x)
		a := x.Actions()
		o.performAll(x, a)
		switch {
		case x.gone: // an effect killed it
		case a.AskSlot && o.takeSlot(x):
		case a.Done:
			o.drop(x, a.Failed)
		case a.Load != "":
			o.load(x, a.Load)
		case a.Reload:
			o.claimAgain(x, x.Reloaded)
		case a.Commit != nil:
			o.commit(x, a.Commit)
		case a.Fetch:
			a.Fetch = false
			o.claimAgain(x, func(c *store.Claimed) error { return x.Fetched(c.Inbox) })
		case len(x.ended) > 0:
			ev := x.ended[0]
			x.ended = x.ended[1:]
			x.Finished(ev)
		case len(x.reports) > 0:
			x.takeReports()
		default:
			o.callAt(x, a.CallAt)
			return
		}
	}
}

// waits reports whether an execution has to wait until its owner can trust its lease again.
func (o *owner) waits(x *executor) bool {
	return !x.revoked && o.trust(x) == lease.Unsure
}

// report reports to an execution the state of its lease, its inbox and its owner.
func (o *owner) report(x *executor) {
	switch {
	case x.revoked || o.trust(x) != lease.Valid:
		x.LeaseLost(execution.ErrLeaseLost)
		return
	case o.draining && !x.drained:
		x.drained = true
		x.Drain()
	}
	if o.leaving && !x.left {
		x.left = true
		x.Leave()
	}
	if x.mail {
		x.mail = false
		x.MailArrived()
	}
}

// takeSlot reports to an execution whether there is a slot for it.
func (o *owner) takeSlot(x *executor) bool {
	if o.taken < o.slots {
		o.taken++
		x.slotted = true
		x.SlotFree()
		return true
	}
	waiting := 0
	for _, other := range o.executors {
		if other.Actions().AskSlot {
			waiting++
		}
	}
	x.NoSlot(waiting)
	return false
}

func (o *owner) drop(x *executor, why error) {
	x.gone = true
	x.refuseReports()
	if why != nil && !x.revoked {
		o.leases.Failed(o.partition(x), x.Instance(), x, o.now())
	} else {
		o.leases.Ended(o.partition(x), x.Instance(), x)
	}
	for n, other := range o.executors {
		if other == x {
			o.executors = append(o.executors[:n:n], o.executors[n+1:]...)
			break
		}
	}
	o.w.note("owner %d lets go of %s, epoch %d: %v", o.n, x.Instance().ID, x.Token().Epoch, why)
	if x.slotted {
		o.release(1)
	}
}

// callAt calls an execution at a time by the store's clock.
func (o *owner) callAt(x *executor, at time.Time) {
	if at.IsZero() || at.Equal(x.calling) {
		return
	}
	x.calling = at
	o.later(time.Duration(float64(at.Sub(o.estimate()))/o.rate)+time.Millisecond, "time passes", func() {
		if x.gone || !x.calling.Equal(at) {
			return
		}
		x.calling = time.Time{}
		if x.busy {
			o.callAt(x, at.Add(5*time.Millisecond))
			return
		}
		if !o.waits(x) {
			if o.report(x); !x.Actions().Done {
				x.TimePassed()
			}
		}
		o.act(x)
	})
}

func (o *owner) perform(x *executor, e interpreter.Effect) {
	x.performing[e.ID] = true
	if !x.slotted && !(e.Waits && x.waits) {
		o.w.problem("%s performs %s without a slot", x.Instance(), e.Request.Path)
	}
	o.w.calls = append(o.w.calls, call{o.w.now, x.Instance(), e.Request.Path, x.Token().Epoch, o.w.holds(o.name, x), 0})
	if strings.Contains(string(e.Request.Body), "/poison") {
		o.w.calls[len(o.w.calls)-1].killed = 1
		o.drop(x, errors.New("poison"))
		return
	}
	took, result, err, ok := o.w.perform(e.Request)
	if !ok {
		return
	}
	o.later(took, "effect", func() {
		if x.gone || !x.performing[e.ID] {
			return
		}
		delete(x.performing, e.ID)
		x.ended = append(x.ended, interpreter.Finished{Effect: e.ID, Result: result, Error: errors.AsError(err)})
		o.act(x)
	})
}

// load loads the program of a run. Sometimes the store cannot be reached.
func (o *owner) load(x *executor, digest string) {
	if !o.w.faulty || o.w.rng.Float64() >= 0.1 {
		if err := x.Loaded(o.w.program(digest)); err != nil {
			o.w.problem("%s: %s", x.Instance(), err)
		}
		return
	}
	x.busy = true
	o.later(time.Duration(o.w.rng.IntN(500))*time.Millisecond, "load", func() {
		x.busy = false
		x.NotLoaded(&definition.UnavailableError{Digest: digest, Err: errNoAnswer})
		o.act(x)
	})
}

func (o *owner) commit(x *executor, c *store.Commit) {
	x.busy = true
	if c.Releases() {
		o.leases.Releasing(o.partition(x), c.Instance, x, true)
	}
	var done store.Committed
	o.call("commit "+c.Instance.ID, func() (err error) {
		done, err = o.w.store.Commit(context.Background(), *c)
		return err
	}, func(err error) {
		x.busy = false
		var refusal *store.Refusal
		switch {
		case x.gone:
			return
		case err == nil:
			o.clock.Update(done.At, o.now())
		case errors.As(err, &refusal):
			if refusal.Code == store.TooEarly {
				o.clock.Reset(refusal.At, o.now())
			}
			o.clock.Update(refusal.At, o.now())
		}
		x.Committed(done, err)
		if a := x.Actions(); c.Releases() && a.Commit != c && !a.Done {
			o.leases.Releasing(o.partition(x), c.Instance, x, false)
		}
		o.act(x)
	})
}

// claimAgain reads a stored run again, if it is still held.
func (o *owner) claimAgain(x *executor, then func(*store.Claimed) error) {
	x.busy = true
	var claimed []store.Claimed
	o.call("claim again", func() (err error) {
		claimed, err = o.w.store.Claim(context.Background(), store.Claim{
			Partition: x.Instance().Partition(o.w.knobs.partitions), Instances: []store.Instance{x.Instance()}, Worker: o.name, Nonce: x.Token().Nonce, Lease: o.w.knobs.lease,
		})
		return err
	}, func(err error) {
		x.busy = false
		switch {
		case x.gone:
			return
		case err != nil:
			o.claimAgain(x, then)
			return
		case len(claimed) == 0 || claimed[0].Token != x.Token():
			x.revoked = true
			o.act(x)
			return
		}
		o.clock.Update(claimed[0].At, o.now())
		if err := then(&claimed[0]); err != nil {
			o.w.problem("%s: %s", x.Instance(), err)
			return
		}
		o.act(x)
	})
}

// performAll cancels and performs effects. If the effects are meant for other owners, it leaves the run to them for a moment.
func (o *owner) performAll(x *executor, a *execution.Actions) {
	for _, id := range a.Cancel {
		delete(x.performing, id)
	}
	perform := a.Perform
	a.Cancel, a.Perform = nil, nil
	for _, e := range perform {
		if o.perform(x, e); x.gone {
			return
		}
	}
	if a.Resting && o.w.kind == receiving && x.slotted {
		a.Resting, x.slotted = false, false
		o.release(1)
		x.SlotLeft()
	}
	if a.Yield {
		a.Yield = false
		o.left[x.Instance().ID] = o.w.now + leaveFor
	}
}
