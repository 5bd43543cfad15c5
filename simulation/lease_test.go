package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// This file is how an owner keeps its leases, as package worker does.

// lease is an owner's lease in one partition.
type lease struct {
	asked  time.Duration // when the lease that lasts was asked for, by the owner's clock
	claims int           // that are on their way
}

func (o *owner) isTrusted(p int) bool { return o.local() < o.leases[p].asked+o.w.knobs.lease*4/5 }

func (o *owner) trusted(x *executor) bool { return o.isTrusted(o.partition(x)) }

func (o *owner) partition(x *executor) int { return x.Instance().Partition(o.w.knobs.partitions) }

// holding returns the executors of a partition.
func (o *owner) holding(p int) (all []*executor) {
	for _, x := range o.executors {
		if o.partition(x) == p {
			all = append(all, x)
		}
	}
	return all
}

// renew prolongs all leases.
func (o *owner) renew() {
	o.actAll()
	request := store.Renew{Worker: o.name, Lease: o.w.knobs.lease}
	for p := range o.leases {
		if len(o.holding(p)) > 0 {
			request.Partitions = append(request.Partitions, p)
		}
	}
	o.later(o.w.knobs.lease/3, "renew", o.renew)
	if len(request.Partitions) == 0 {
		return
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
		lasting := map[int]bool{}
		for _, r := range renewed {
			if lasting[r.Partition] = true; o.isTrusted(r.Partition) {
				o.leases[r.Partition].asked = asked
			} else {
				o.reconcile(r.Partition, asked)
			}
		}
		for _, p := range request.Partitions {
			for _, x := range o.holding(p) {
				x.revoked = x.revoked || !lasting[p] && x.asked < asked
			}
		}
		o.actAll()
	})
}

// reconcileAll compares what is held with what the store says, now and then.
func (o *owner) reconcileAll() {
	for p := range o.leases {
		if o.isTrusted(p) {
			o.reconcile(p, 0)
		}
	}
	o.later(o.w.knobs.lease, "reconcile", o.reconcileAll)
}

// reconcile compares what is held with what the store says, and trusts the lease from then on that was asked for late; 0 for
// none.
func (o *owner) reconcile(p int, late time.Duration) {
	if o.leases[p].claims > 0 {
		return // what is being claimed is known soon
	}
	held := o.holding(p)
	var stored []store.Held
	o.call("held by", func() (err error) {
		stored, err = o.w.store.HeldBy(context.Background(), p, o.name)
		return err
	}, func(err error) {
		if err != nil || o.leases[p].claims > 0 {
			return
		}
		is := map[store.Instance]bool{}
		for _, s := range stored {
			is[s.Instance] = true
		}
		for _, x := range held {
			x.revoked = x.revoked || late > 0 && !is[x.Instance()]
			x.mail = x.mail || !is[x.Instance()]
		}
		if late > o.leases[p].asked {
			o.leases[p].asked = late
		}
		o.settle(p, stored)
		o.actAll()
	})
}

// settle tells the executors of messages, and gives up what the store says is held and nobody here runs.
func (o *owner) settle(p int, stored []store.Held) {
	given := map[bool][]store.Instance{}
	for _, s := range stored {
		at := slices.IndexFunc(o.executors, func(x *executor) bool { return x.Instance() == s.Instance })
		since, died := o.failed[s.Instance]
		switch {
		case at >= 0:
			o.executors[at].mail = o.executors[at].mail || s.Notice
		case !died || o.w.now-since > o.w.knobs.lease:
			given[died] = append(given[died], s.Instance)
		}
	}
	for _, died := range []bool{false, true} {
		if len(given[died]) == 0 {
			continue
		}
		request := store.Promote{Partition: p, Instances: given[died], Worker: o.name, Died: died}
		o.call("give up", func() error {
			_, err := o.w.store.Promote(context.Background(), request)
			return err
		}, func(err error) {
			for _, i := range request.Instances {
				if err == nil {
					delete(o.failed, i)
				}
			}
		})
	}
}
