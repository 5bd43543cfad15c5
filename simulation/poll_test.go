package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/store"
)

// The work of an owner in a partition: it polls, claims, and relays messages of runs.

// poll looks for work in every partition.
func (o *owner) poll() {
	if !o.polling {
		o.polling = true
		o.pollPartition(0)
	}
}

func (o *owner) pollPartition(p int) {
	if p == o.w.knobs.partitions || o.draining {
		o.polling = false
		o.later(pollEvery-time.Duration(o.w.rng.Int64N(int64(pollEvery)/4)), "poll", o.poll)
		return
	}
	var work store.Work
	o.call("poll", func() (err error) {
		work, err = o.w.store.Poll(context.Background(), p, 20, false)
		return err
	}, func(err error) {
		if err != nil {
			o.leases.Unreachable(o.now())
		} else {
			o.clock.Update(work.At, o.now())
			o.relay(p, work.Outbox)
			o.promote(p, work)
			o.expire(p, work.Activities)
			o.claimNeeding(p, work)
		}
		o.pollPartition(p + 1)
	})
}

func (o *owner) promote(p int, work store.Work) {
	o.claim(p, work.New[:min(len(work.New), o.slots-o.taken)], true)
	request, _ := o.leases.Polled(p, work, o.now()) // it looks again soon in any case
	if len(request.Instances)+len(request.Gone) == 0 {
		o.claim(p, work.Begun, false)
		return
	}
	o.call("promote", func() error { return o.w.promote(request) }, func(error) { o.claim(p, slices.Concat(request.Instances, work.Begun), false) })
}

// claim claims runs; each new run gets a slot.
func (o *owner) claim(p int, ready []store.Instance, slotted bool, has ...store.Need) {
	ready = slices.DeleteFunc(slices.Clone(ready), func(i store.Instance) bool { return !slotted && o.w.now < o.left[i.ID] })
	if len(ready) == 0 || o.draining {
		return
	}
	if ready = o.leases.Claiming(p, ready); len(ready) == 0 {
		return
	}
	if slotted {
		o.taken += len(ready)
	}
	nonce, sent := o.w.nonce(), o.now()
	var claimed []store.Claimed
	o.call("claim", func() (err error) {
		claimed, err = o.w.store.Claim(context.Background(), store.Claim{Partition: p, Instances: ready, Worker: o.name, Nonce: nonce, Lease: o.w.knobs.lease, Has: has})
		o.w.leased(o.name, p, len(claimed) > 0)
		return err
	}, func(err error) {
		if err != nil {
			claimed = nil
		}
		claim := lease.Claim[*executor]{Asked: ready, Sent: sent, Answered: err == nil, Got: map[store.Instance]*executor{}}
		for _, c := range claimed {
			o.clock.Update(c.At, o.now())
			claim.Got[c.Instance] = o.newExecutor(&c, slotted)
		}
		revokeAll(o.leases.Claimed(p, claim, o.now()))
		if slotted {
			o.release(len(ready) - len(claimed))
		}
		for _, c := range claimed {
			o.execute(claim.Got[c.Instance])
		}
	})
}

// release gives slots back, and lets waiting executors ask again.
func (o *owner) release(slots int) {
	if o.taken -= slots; o.taken < 0 || o.taken > o.slots {
		o.w.problem("%d of %d slots of owner %d are taken", o.taken, o.slots, o.n)
	}
	if slots > 0 {
		o.later(0, "slot", o.actAll)
	}
}

// relay delivers messages of runs to their receivers.
func (o *owner) relay(p int, entries []store.Outgoing) {
	if len(entries) == 0 {
		return
	}
	acknowledge := func(then func()) {
		o.call("relay", func() error {
			return o.w.store.Relay(context.Background(), p, []string{entries[0].ID})
		}, func(error) { then() })
	}
	deliver := func(then func()) {
		o.call("deliver", func() error { return o.w.relay.Deliver(context.Background(), entries[0]) }, func(err error) {
			if err == nil {
				then()
			}
		})
	}
	rest := func() { o.relay(p, entries[1:]) }
	if o.w.bug.hasty {
		acknowledge(func() { deliver(rest) })
		return
	}
	deliver(func() { acknowledge(rest) })
}
