package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// This file is how an owner looks for work, claims it, keeps its leases, and relays what leaves instances.

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
		if err == nil {
			o.hear(work.At)
			o.relay(p, work.Outbox)
			o.promote(p, work)
		}
		o.pollPartition(p + 1)
	})
}

func (o *owner) promote(p int, work store.Work) {
	begun, fresh := work.Ready[:work.Begun], work.Ready[work.Begun:]
	o.claim(p, fresh[:min(len(fresh), o.slots-o.taken)], true)
	if len(work.Due) == 0 {
		o.claim(p, begun, false)
		return
	}
	o.call("promote", func() error {
		_, err := o.w.store.Promote(context.Background(), store.Promote{Partition: p, Instances: work.Due})
		return err
	}, func(error) { o.claim(p, slices.Concat(work.Due, begun), false) })
}

// claim takes instances; what is new comes with a slot each.
func (o *owner) claim(p int, ready []store.Instance, slotted bool) {
	ready = slices.DeleteFunc(slices.Clone(ready), func(i store.Instance) bool { return !slotted && o.w.now < o.left[i.ID] })
	if len(ready) == 0 || o.draining {
		return
	}
	if slotted {
		o.taken += len(ready)
	}
	nonce, asked := o.w.nonce(), o.local()
	var claimed []store.Claimed
	o.call("claim", func() (err error) {
		claimed, err = o.w.store.Claim(context.Background(), store.Claim{Partition: p, Instances: ready, Nonce: nonce, Lease: o.w.knobs.lease})
		return err
	}, func(err error) {
		if err != nil {
			claimed = nil
		}
		if slotted {
			o.release(len(ready) - len(claimed))
		}
		for _, c := range claimed {
			o.hear(c.At)
			o.execute(c, asked, slotted)
		}
	})
}

// release gives slots back, and has executors that wait for one ask again.
func (o *owner) release(slots int) {
	if o.taken -= slots; o.taken < 0 || o.taken > o.slots {
		o.w.problem("%d of %d slots of owner %d are taken", o.taken, o.slots, o.n)
	}
	if slots > 0 {
		o.later(0, "slot", o.actAll)
	}
}

// renew prolongs all leases.
func (o *owner) renew() {
	byPartition := make([][]*executor, o.w.knobs.partitions)
	for _, x := range append([]*executor{}, o.executors...) {
		if o.act(x); !x.gone && (o.trusted(x) || o.w.bug.trusting) {
			p := x.Instance().Partition(o.w.knobs.partitions)
			byPartition[p] = append(byPartition[p], x)
		}
	}
	for p, all := range byPartition {
		if len(all) > 0 {
			o.renewAll(p, all)
		}
	}
	o.later(o.w.knobs.lease/3, "renew", o.renew)
}

func (o *owner) renewAll(p int, all []*executor) {
	request := store.Renew{Partition: p, Lease: o.w.knobs.lease}
	for _, x := range all {
		request.Held = append(request.Held, store.Held{Instance: x.Instance(), Token: x.Token()})
	}
	asked := o.local()
	var renewed []store.Renewed
	o.call("renew", func() (err error) {
		renewed, err = o.w.store.Renew(context.Background(), request)
		o.w.auditRenewed(request, renewed)
		return err
	}, func(err error) {
		if err != nil {
			return
		}
		mail := map[store.Instance]bool{}
		for _, r := range renewed {
			mail[r.Instance] = r.Mail
		}
		for _, x := range all {
			has, ok := mail[x.Instance()]
			switch {
			case x.gone:
				continue
			case !ok:
				x.revoked = true
			default:
				x.asked = asked
				x.mail = x.mail || has
			}
			o.act(x)
		}
	})
}

// relay delivers what leaves instances.
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
