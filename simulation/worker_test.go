package simulation

import (
	"context"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// owner does in the simulation what worker.Worker does with goroutines.
type owner struct {
	w       *world
	n       int
	life    int           // counts its crashes: what was meant for an earlier life is lost
	paused  time.Duration // until when it stands still
	rate    float64       // at which its clock runs
	heardAt time.Duration // when it heard of the store's time, by its own clock
	heard   time.Time     // what it heard
	latest  time.Time
	held    []*holding
	polling bool
	leaving bool // it is about to stop, and takes nothing more
}

// holding is an instance in a worker's hands.
type holding struct {
	session  *execution.Execution
	instance store.Instance
	token    store.Token
	asked    time.Duration // when the lease was asked for, by the worker's clock
	busy     bool          // an operation is on its way
	mail     bool
	ended    []interpreter.Finished
	flights  map[interpreter.EffectID]bool
	gone     bool
	failures int
	ticking  time.Time
	unplaced bool // its session has no place for effects
}

var errLost = errors.New("no answer")

const (
	pollEvery = 300 * time.Millisecond
	opTimeout = 400 * time.Millisecond
)

func (k *owner) boot() {
	k.rate = 1 + k.w.knobs.skew*(2*k.w.rng.Float64()-1)
	k.held, k.heard, k.latest, k.polling, k.leaving = nil, time.Time{}, time.Time{}, false, false
	k.later(time.Duration(k.w.rng.IntN(100))*time.Millisecond, "boot", k.poll)
	k.later(k.w.knobs.lease/3, "renew", k.renew)
	k.later(time.Second, "fate", k.fate)
}

// local is the worker's own clock.
func (k *owner) local() time.Duration { return time.Duration(float64(k.w.now) * k.rate) }

// later has the worker do something, unless it is dead by then; while it stands still, everything waits.
func (k *owner) later(d time.Duration, what string, do func()) {
	life := k.life
	var act func()
	act = func() {
		switch {
		case k.life != life:
		case k.w.now < k.paused:
			k.w.after(k.paused-k.w.now, what, act)
		default:
			do()
		}
	}
	k.w.after(d, what, act)
}

// fate lets the worker crash or stand still, as the seed wants.
func (k *owner) fate() {
	w := k.w
	if w.faulty && w.rng.Float64() < w.knobs.crash {
		w.note("worker %d crashes", k.n)
		w.crashes++
		k.life++
		w.after(time.Duration(w.rng.IntN(3000))*time.Millisecond, "reboot", k.boot)
		return
	}
	if w.faulty && !k.leaving && w.rng.Float64() < w.knobs.leave {
		k.leave()
	}
	if w.faulty && w.rng.Float64() < w.knobs.pause {
		k.paused = w.now + time.Duration(w.rng.IntN(6000))*time.Millisecond
		w.note("worker %d stands still until %s", k.n, k.paused)
	}
	k.later(time.Second, "fate", k.fate)
}

// leave stops the worker as SIGTERM does: it takes nothing more, lets what is in flight end for a while, hands over the
// rest, and comes back.
func (k *owner) leave() {
	k.w.note("worker %d leaves", k.n)
	k.leaving = true
	all := func(tell func(*execution.Execution)) {
		for _, h := range append([]*holding{}, k.held...) {
			if !h.gone && !k.lost(h) {
				tell(h.session)
				k.act(h)
			}
		}
	}
	all(func(s *execution.Execution) { s.Drain() })
	patience := time.Duration(k.w.rng.IntN(400)) * time.Millisecond
	k.later(patience, "hand over", func() { all(func(s *execution.Execution) { s.HandOver() }) })
	k.later(patience+time.Second, "reboot", func() {
		k.life++
		k.boot()
	})
}

// call sends an operation to the store and hands the answer to then: it may be lost on the way there or back, happen
// twice, or take long.
func (k *owner) call(what string, operation func() error, then func(err error)) {
	w := k.w
	answered, life := false, k.life
	answer := func(err error) {
		if !answered {
			answered = true
			then(err)
		}
	}
	delay := func() time.Duration { return time.Duration(w.rng.ExpFloat64() * float64(w.knobs.latency)) }
	happens := func() {
		err := operation()
		if err != nil {
			w.note("worker %d: %s: %s", k.n, what, err)
		}
		if w.lose() || k.life != life {
			return
		}
		k.later(delay(), what, func() { answer(err) })
	}
	if !w.lose() {
		w.after(delay(), what, happens)
	}
	if w.faulty && w.rng.Float64() < w.knobs.double {
		w.after(4*delay(), what+" again", happens)
	}
	k.later(opTimeout, what+" times out", func() { answer(errLost) })
}

func (w *world) lose() bool { return w.faulty && w.rng.Float64() < w.knobs.drop }

// hear takes in the store's time.
func (k *owner) hear(at time.Time) {
	if at.IsZero() {
		return
	}
	if since := k.local() - k.heardAt; k.heard.IsZero() || at.After(k.heard.Add(since)) || since > 5*time.Second {
		k.heard, k.heardAt = at, k.local()
	}
}

// estimate is what the worker believes the store's time to be.
func (k *owner) estimate() time.Time {
	if at := k.heard.Add(k.local() - k.heardAt).Truncate(time.Millisecond); at.After(k.latest) {
		k.latest = at
	}
	return k.latest
}

func (k *owner) trusted(h *holding) bool {
	return k.local() < h.asked+k.w.knobs.lease*4/5
}

// poll looks for work in every partition.
func (k *owner) poll() {
	if !k.polling {
		k.polling = true
		k.pollPartition(0)
	}
}

func (k *owner) pollPartition(p int) {
	if p == k.w.knobs.partitions || k.leaving {
		k.polling = false
		k.later(pollEvery, "poll", k.poll)
		return
	}
	var work store.Work
	k.call("poll", func() (err error) {
		work, err = k.w.store.Poll(context.Background(), p, 20, false)
		return err
	}, func(err error) {
		if err == nil {
			k.hear(work.At)
			k.relay(p, work.Outbox)
			k.promote(p, work)
		}
		k.pollPartition(p + 1)
	})
}

func (k *owner) promote(p int, work store.Work) {
	if len(work.Due) == 0 {
		k.claim(p, work.Ready)
		return
	}
	k.call("promote", func() error {
		_, err := k.w.store.Promote(context.Background(), store.Promote{Partition: p, Instances: work.Due})
		return err
	}, func(error) { k.claim(p, append(work.Due, work.Ready...)) })
}

func (k *owner) claim(p int, ready []store.Instance) {
	if len(ready) == 0 || k.leaving {
		return
	}
	nonce, asked := k.w.nonce(), k.local()
	var claimed []store.Claimed
	k.call("claim", func() (err error) {
		claimed, err = k.w.store.Claim(context.Background(), store.Claim{Partition: p, Instances: ready, Nonce: nonce, Lease: k.w.knobs.lease})
		return err
	}, func(err error) {
		if err != nil {
			return
		}
		for _, c := range claimed {
			k.hear(c.At)
			k.hold(c, asked)
		}
	})
}

func (k *owner) hold(c store.Claimed, asked time.Duration) {
	info, err := execution.ParseInvocation(c.Invocation)
	if err != nil {
		k.w.problem("%s: %s", c.Instance, err)
		return
	}
	h := &holding{instance: c.Instance, token: c.Token, asked: asked, flights: map[interpreter.EffectID]bool{}}
	h.session = execution.NewExecution(execution.ExecutionConfig{Clock: k.estimate, ParkAfter: time.Second, CheckpointAfter: 50 * time.Millisecond}, c, info, k.w.program(info))
	k.held = append(k.held, h)
	k.w.note("worker %d takes %s, epoch %d", k.n, c.Instance.ID, c.Token.Epoch)
	if k.w.faulty && k.w.rng.Float64() < 0.2 {
		h.session.Unplaced()
		h.unplaced = true
		k.later(time.Duration(k.w.rng.IntN(3000))*time.Millisecond, "place", func() { k.place(h) })
	}
	if err := h.session.Begin(c); err != nil {
		k.w.problem("%s: %s", c.Instance, err)
		return
	}
	if k.leaving {
		h.session.Drain()
	}
	k.act(h)
}

// act does what a session wants, as far as no operation of it is on its way.
func (k *owner) act(h *holding) {
	for !h.busy && !h.gone && !k.lost(h) {
		wants := h.session.Actions()
		for _, id := range wants.Cancel {
			delete(h.flights, id)
		}
		for _, e := range wants.Perform {
			k.perform(h, e)
		}
		wants.Cancel, wants.Perform = nil, nil
		if h.gone {
			return
		}
		switch {
		case wants.Done:
			k.drop(h, "done")
		case wants.Reload:
			k.reload(h)
		case wants.Commit != nil:
			k.commit(h, *wants.Commit)
		case wants.Mail || h.mail:
			wants.Mail, h.mail = false, false
			k.fetch(h)
		case len(h.ended) > 0:
			ev := h.ended[0]
			h.ended = h.ended[1:]
			h.session.Finished(ev)
		default:
			k.tick(h, wants.Tick)
			return
		}
	}
}

// place gives a session its place for effects.
func (k *owner) place(h *holding) {
	if h.unplaced = false; !h.gone && !k.lost(h) {
		h.session.Placed()
		k.act(h)
	}
}

func (k *owner) drop(h *holding, why string) {
	h.gone = true
	for n, other := range k.held {
		if other == h {
			k.held = append(k.held[:n:n], k.held[n+1:]...)
			break
		}
	}
	k.w.note("worker %d lets go of %s, epoch %d: %s", k.n, h.instance.ID, h.token.Epoch, why)
}

// lost lets go of what cannot be trusted any more.
func (k *owner) lost(h *holding) bool {
	if k.trusted(h) || k.w.bug.trusting {
		return false
	}
	k.drop(h, "the lease is lost")
	return true
}

func (k *owner) tick(h *holding, at time.Time) {
	if at.IsZero() || at.Equal(h.ticking) {
		return
	}
	h.ticking = at
	k.later(time.Duration(float64(at.Sub(k.estimate()))/k.rate)+time.Millisecond, "tick", func() {
		if h.gone || !h.ticking.Equal(at) || k.lost(h) {
			return
		}
		h.ticking = time.Time{}
		if !h.busy {
			h.session.Tick()
			k.act(h)
		} else {
			k.tick(h, at.Add(5*time.Millisecond))
		}
	})
}

func (k *owner) perform(h *holding, e interpreter.Effect) {
	h.flights[e.ID] = true
	if h.unplaced && e.AtMostOnce {
		k.w.problem("%s performs %s without a place for it", h.instance, e.Request.Path)
	}
	k.w.calls = append(k.w.calls, call{k.w.now, h.instance, e.Request.Path, h.token.Epoch, k.trusted(h), 0})
	if strings.Contains(string(e.Request.Body), "/poison") {
		k.w.calls[len(k.w.calls)-1].killed = 1
		k.drop(h, "poison")
		return
	}
	took, result, err, ok := k.w.perform(e.Request)
	if !ok {
		return
	}
	k.later(took, "effect", func() {
		if h.gone || !h.flights[e.ID] || k.lost(h) {
			return
		}
		delete(h.flights, e.ID)
		h.ended = append(h.ended, interpreter.Finished{Effect: e.ID, Result: result, Error: errors.AsError(err)})
		k.act(h)
	})
}

func (k *owner) commit(h *holding, c store.Commit) {
	h.busy = true
	var done store.Committed
	k.call("commit "+c.Instance.ID, func() (err error) {
		done, err = k.w.store.Commit(context.Background(), c)
		return err
	}, func(err error) {
		h.busy = false
		var refusal *store.Refusal
		switch {
		case h.gone || k.lost(h):
			return
		case err == nil:
			k.hear(done.At)
		case errors.As(err, &refusal):
			if refusal.Code == store.Guard {
				k.heard, k.heardAt, k.latest = refusal.At, k.local(), time.Time{}
			}
			k.hear(refusal.At)
		default:
			k.act(h) // the same commit again
			return
		}
		h.session.Committed(done, err)
		k.act(h)
	})
}

// again asks for an instance as it is stored, if it is still held.
func (k *owner) again(h *holding, then func(store.Claimed) error) {
	h.busy = true
	var claimed []store.Claimed
	k.call("claim again", func() (err error) {
		claimed, err = k.w.store.Claim(context.Background(), store.Claim{
			Partition: h.instance.Partition(k.w.knobs.partitions), Instances: []store.Instance{h.instance}, Nonce: h.token.Nonce, Lease: k.w.knobs.lease,
		})
		return err
	}, func(err error) {
		h.busy = false
		switch {
		case h.gone || k.lost(h):
			return
		case err != nil:
			k.again(h, then)
			return
		case len(claimed) == 0 || claimed[0].Token != h.token:
			k.drop(h, "it is in other hands")
			return
		}
		k.hear(claimed[0].At)
		if err := then(claimed[0]); err != nil {
			k.w.problem("%s: %s", h.instance, err)
			return
		}
		k.act(h)
	})
}

func (k *owner) reload(h *holding) { k.again(h, h.session.Reloaded) }

func (k *owner) fetch(h *holding) {
	k.again(h, func(c store.Claimed) error { return h.session.Mail(c.Inbox) })
}

// renew prolongs all leases.
func (k *owner) renew() {
	byPartition := make([][]*holding, k.w.knobs.partitions)
	for _, h := range append([]*holding{}, k.held...) {
		if !k.lost(h) {
			p := h.instance.Partition(k.w.knobs.partitions)
			byPartition[p] = append(byPartition[p], h)
		}
	}
	for p, all := range byPartition {
		if len(all) > 0 {
			k.renewAll(p, all)
		}
	}
	k.later(k.w.knobs.lease/3, "renew", k.renew)
}

func (k *owner) renewAll(p int, all []*holding) {
	request := store.Renew{Partition: p, Lease: k.w.knobs.lease}
	for _, h := range all {
		request.Held = append(request.Held, store.Held{Instance: h.instance, Token: h.token})
	}
	asked := k.local()
	var renewed []store.Renewed
	k.call("renew", func() (err error) {
		renewed, err = k.w.store.Renew(context.Background(), request)
		k.w.auditRenewed(request, renewed)
		return err
	}, func(err error) {
		if err != nil {
			return
		}
		mail := map[store.Instance]bool{}
		for _, r := range renewed {
			mail[r.Instance] = r.Mail
		}
		for _, h := range all {
			has, ok := mail[h.instance]
			switch {
			case h.gone:
			case !ok:
				k.drop(h, "not renewed")
			default:
				h.asked = asked
				h.mail = h.mail || has
				k.act(h)
			}
		}
	})
}

// relay brings what leaves instances to where it belongs.
func (k *owner) relay(p int, entries []store.Outgoing) {
	if len(entries) == 0 {
		return
	}
	acknowledge := func(then func()) {
		k.call("relay", func() error {
			return k.w.store.Relay(context.Background(), p, []string{entries[0].ID})
		}, func(error) { then() })
	}
	bring := func(then func()) {
		k.call("bring", func() error { return k.w.relay.Bring(context.Background(), entries[0]) }, func(err error) {
			if err == nil {
				then()
			}
		})
	}
	rest := func() { k.relay(p, entries[1:]) }
	if k.w.bug.hasty {
		acknowledge(func() { bring(rest) })
		return
	}
	bring(func() { acknowledge(rest) })
}
