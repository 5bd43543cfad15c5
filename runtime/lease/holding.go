package lease

import (
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Claiming reports that runs are about to be claimed, and returns the runs that may be claimed: not the runs that the worker is giving up.
// Claimed must be called afterwards.
func (l *Leases[R]) Claiming(partition int, instances []store.Instance) []store.Instance {
	p := &l.partitions[partition]
	if len(p.givingUp) > 0 {
		instances = slices.DeleteFunc(slices.Clone(instances), func(i store.Instance) bool { return p.givingUp[i] })
	}
	for _, i := range instances {
		p.claims[i]++
		if p.comparison != nil {
			p.comparison.claimed[i] = true
		}
	}
	return instances
}

// Claim is a claim that was sent at a time, with its result.
type Claim[R comparable] struct {
	Asked    []store.Instance
	Sent     time.Time
	Answered bool // otherwise runs may have been claimed anyway
	Got      map[store.Instance]R
}

// Claimed handles the answer to a claim: the runs in Got are held from now on. lost are their former executors.
func (l *Leases[R]) Claimed(partition int, c Claim[R], now time.Time) (lost []R) {
	p := &l.partitions[partition]
	p.doubted = p.doubted || !c.Answered
	if len(c.Got) > 0 && (l.Trust(partition, now) == Valid || len(p.held) == 0) {
		p.extend(c.Sent)
	}
	for _, i := range c.Asked {
		if p.claims[i]--; p.claims[i] == 0 {
			delete(p.claims, i)
		}
		run, got := c.Got[i]
		if !got {
			continue
		}
		if before := p.held[i]; before != nil && !before.releasing { // otherwise the answer to its commit is on its way
			lost = append(lost, before.run)
		}
		p.held[i] = &holding[R]{run: run, asked: c.Sent}
	}
	return lost
}

// Releasing reports whether a commit is on its way that gives a run back.
func (l *Leases[R]) Releasing(partition int, i store.Instance, run R, is bool) {
	if h := l.partitions[partition].held[i]; h != nil && h.run == run {
		h.releasing = is
	}
}

// Ended reports that a run is no longer executed. It returns false if the run was claimed again in the meantime.
func (l *Leases[R]) Ended(partition int, i store.Instance, run R) bool {
	p := &l.partitions[partition]
	if h := p.held[i]; h == nil || h.run != run {
		return false
	}
	p.doubted = p.doubted || p.held[i].abandoned
	delete(p.held, i)
	return true
}

// Failed reports that a run could not be executed any more, and is still held.
func (l *Leases[R]) Failed(partition int, i store.Instance, run R, now time.Time) {
	if p := &l.partitions[partition]; l.Ended(partition, i, run) {
		p.failed[i], p.doubted = now, true
	}
}

// Run returns the executor of a run of a partition, if the worker holds the run.
func (l *Leases[R]) Run(partition int, i store.Instance) (run R, held bool) {
	h := l.partitions[partition].held[i]
	if h == nil {
		return run, false
	}
	return h.run, true
}
