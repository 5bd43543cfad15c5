package simulation

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/store"
)

// The leases of an owner. As in a worker, package lease decides, and the owner carries out the decisions.

func (o *owner) partition(x *executor) int { return x.Instance().Partition(o.w.knobs.partitions) }

func (o *owner) trust(x *executor) lease.Trust {
	return o.leases.Trust(o.partition(x), o.now())
}

func revokeAll(lost []*executor) {
	for _, x := range lost {
		x.revoked = true
	}
}

// renew prolongs the leases that are due.
func (o *owner) renew() {
	again := func() { o.later(o.leases.Interval(), "renew", o.renew) }
	sent := o.now()
	request, lost := o.leases.Renewal(sent)
	revokeAll(lost)
	o.actAll()
	if len(request.Partitions) == 0 {
		again()
		return
	}
	var renewed []store.Renewed
	o.call("renew", func() (err error) {
		renewed, err = o.w.store.Renew(context.Background(), request)
		o.w.auditRenewed(request, renewed)
		return err
	}, func(err error) {
		if err != nil {
			o.leases.Unreachable(o.now())
		} else {
			revokeAll(o.leases.Renewed(request, sent, o.now(), renewed))
			o.actAll()
		}
		again()
	})
}

// compare compares the held runs with the store's record wherever they may differ.
func (o *owner) compare() {
	for _, p := range o.leases.Comparisons(o.now()) {
		var stored []store.Held
		o.call("held by", func() (err error) {
			stored, err = o.w.store.HeldBy(context.Background(), p, o.name)
			return err
		}, func(err error) {
			if err != nil {
				o.leases.NotCompared(p)
				return
			}
			o.compared(o.leases.Compared(p, stored, o.now()))
		})
	}
	o.later(o.leases.Interval(), "compare", o.compare)
}

func (o *owner) compared(found lease.Findings[*executor]) {
	revokeAll(found.Lost)
	for _, x := range found.Mail {
		x.mail = true
	}
	o.actAll()
	for _, request := range found.GiveUp {
		o.call("give up", func() error { return o.w.promote(request) }, func(err error) { o.leases.GaveUp(request, err == nil) })
	}
}

// watch asks the store for written changes.
func (o *owner) watch() {
	o.call("written", func() error {
		_, err := o.w.store.Written(context.Background())
		return err
	}, func(err error) {
		if err == nil {
			o.leases.Answered(o.now())
		}
		o.later(pollEvery-time.Duration(o.w.rng.Int64N(int64(pollEvery)/4)), "watch", o.watch)
	})
}
