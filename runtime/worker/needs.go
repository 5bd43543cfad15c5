package worker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// claimable are runs that the worker may claim.
type claimable struct {
	runs    []store.Instance
	has     []store.Need               // that some of them wait for
	permits map[store.Instance]*permit // for runs that wait in a queue with a limit
	shares  map[store.Instance]*share  // of which each has a slot; none without a bound
}

// needing returns runs that wait for something that the worker has, and that may begin.
func (p *partition) needing(ctx context.Context, needs []store.Need) (all claimable, err error) {
	all.has = p.w.having(needs)
	for _, n := range all.has {
		most := batchSize
		var reserved []*permit
		if queue, ok := queueOf(n); ok {
			var limited bool
			if reserved, limited = p.w.permits.reserve(ctx, queue, claimSize, p); limited {
				most = len(reserved)
			}
		}
		var some []store.Needy
		if most > 0 {
			some, err = p.w.c.Store.Needing(ctx, store.Needing{Partition: p.n, Need: n, N: most, Turn: rand.Int()})
		}
		for _, i := range p.w.chosen(instancesOf(some)) {
			all.runs = append(all.runs, i)
			if len(reserved) > 0 && all.permits[i] == nil {
				all.keep(i, reserved[0])
				reserved = reserved[1:]
			}
		}
		for _, one := range reserved {
			p.w.permits.end(one, false)
		}
		if err != nil {
			p.w.dropped(&all)
			return claimable{}, err
		}
	}
	if len(all.runs) > 0 {
		p.mu.Lock()
		p.rest = false
		p.mu.Unlock()
	}
	return all, nil
}

// namesSecret reports whether runs wait for a secret. The worker may have it at any time, and nothing is written to the store then.
func namesSecret(n store.Need) bool {
	return slices.ContainsFunc(n.Parts(), func(part string) bool {
		_, ok := interpreter.NeededSecret(part)
		return ok
	})
}

func instancesOf(some []store.Needy) (all []store.Instance) {
	for _, i := range some {
		all = append(all, i.Instance)
	}
	return all
}

func (c *claimable) keep(i store.Instance, one *permit) {
	if c.permits == nil {
		c.permits = map[store.Instance]*permit{}
	}
	c.permits[i] = one
}

// dropped returns the reservations for runs that were not claimed.
func (w *Worker) dropped(c *claimable) {
	for _, one := range c.permits {
		w.permits.end(one, false)
	}
	for _, one := range c.shares {
		one.release()
		w.shares.leave(one)
	}
}

// queueOf returns the task queue of a need; ok is false if it names none.
func queueOf(n store.Need) (queue string, ok bool) {
	for _, part := range n.Parts() {
		if queue, ok := interpreter.NeededQueue(part); ok {
			return queue, true
		}
	}
	return "", false
}

// having returns the given needs that the worker meets.
func (w *Worker) having(all []store.Need) []store.Need {
	if len(all) == 0 || w.c.Concurrency < 0 {
		return nil
	}
	var has []store.Need
	for _, n := range all {
		switch {
		case n.IsReserved(): // it stands for all that are
			for _, run := range w.about.Runs {
				has = append(has, store.Reserved(run))
			}
		case w.has(n):
			has = append(has, n)
		}
	}
	return has
}
