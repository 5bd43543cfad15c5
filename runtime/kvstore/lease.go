package kvstore

import (
	"context"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Renew implements store.Store.
func (s *Store) Renew(_ context.Context, c store.Renew) (renewed []store.Renewed, err error) {
	err = s.db.Update(func(tx Tx) error {
		renewed = nil
		for _, n := range c.Partitions {
			p := s.partition(tx, n)
			ends := p.lease(c.Worker)
			if ends.IsZero() {
				continue
			}
			if renewal := p.now.Add(c.Lease.Truncate(time.Millisecond)); renewal.After(ends) {
				p.setLease(c.Worker, renewal)
			}
			renewed = append(renewed, store.Renewed{Partition: n, At: p.now})
		}
		return nil
	})
	return renewed, err
}

// HeldBy implements store.Reader.
func (s *Store) HeldBy(_ context.Context, of int, worker string) (held []store.Held, err error) {
	err = s.view(of, func(p *partition) error {
		for _, i := range p.heldBy(worker, -1) {
			if r, err := p.record(i); err == nil && r != nil { // otherwise Scrub reports it
				held = append(held, store.Held{Instance: i, Notice: r.Unread()})
			}
		}
		return nil
	})
	return held, err
}

// heldBy returns runs that a worker holds, at most n; all if n is negative.
func (p *partition) heldBy(worker string, n int) (all []store.Instance) {
	prefix := p.setPrefix(store.SetHeld)
	p.Scan(prefix, prefix, func(key string, owner []byte) bool {
		if len(all) == n {
			return false
		}
		if string(owner) == worker {
			_, i := indexed(key, prefix)
			all = append(all, i)
		}
		return true
	})
	return all
}

// lease returns when the lease of a worker ends, or ended; zero without a lease.
func (p *partition) lease(worker string) time.Time { return store.Moment(p.counter("lease/" + worker)) }

func (p *partition) setLease(worker string, ends time.Time) {
	p.setCounter("lease/"+worker, store.Millis(ends))
}

// leases calls f with each lease, and when it ends.
func (p *partition) leases(f func(worker string, ends time.Time)) {
	prefix := p.prefix + "lease/"
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		worker := strings.TrimPrefix(key, prefix)
		f(worker, p.lease(worker))
		return true
	})
}

// forgetLease deletes the lease of a worker that holds nothing, if it expired or the worker itself asks for it.
func (p *partition) forgetLease(worker string, asks bool) {
	if (asks || !p.lease(worker).After(p.now)) && len(p.heldBy(worker, 1)) == 0 {
		p.Delete(p.prefix + "lease/" + worker)
	}
}
