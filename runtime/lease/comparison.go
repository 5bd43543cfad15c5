package lease

import (
	"maps"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// comparison is a comparison of the held runs with the store, while the store is asked.
type comparison[R comparable] struct {
	held      map[store.Instance]*holding[R] // before the store was asked
	claimed   map[store.Instance]bool        // during the comparison, or possibly so
	recovered time.Time                      // when the lease was asked for that is trusted from now on; zero for none
}

// Comparisons returns the partitions in which the held runs must be compared with the store (Store.HeldBy). Compared must be called for
// each. A comparison finds claims without an answer, messages without a hint, and runs that other workers took. All of these are writes:
// without writes a comparison finds nothing.
func (l *Leases[R]) Comparisons(now time.Time) (partitions []int) {
	for n := range l.partitions {
		p := &l.partitions[n]
		isTime := l.Trust(n, now) == Valid && now.Sub(p.compared) > l.Length && (p.writes != p.comparedAt || l.draining)
		if p.comparison != nil || len(p.givingUp) > 0 || !p.doubted && !isTime {
			continue
		}
		p.comparison = &comparison[R]{held: maps.Clone(p.held), claimed: map[store.Instance]bool{}, recovered: p.recovered}
		for i := range p.claims {
			p.comparison.claimed[i] = true
		}
		p.doubted, p.compared, p.comparedAt = false, now, p.writes
		partitions = append(partitions, n)
	}
	return partitions
}

// Findings are the results of a comparison.
type Findings[R comparable] struct {
	Lost   []R             // others have them
	Mail   []R             // they may have messages, or be lost: they look
	GiveUp []store.Promote // runs that are not executed here; the answers go to GaveUp
}

// Compared handles the runs that the worker holds according to the store. If the lease could not be trusted before, it is trusted from now
// on.
func (l *Leases[R]) Compared(partition int, stored []store.Held, now time.Time) (found Findings[R]) {
	p := &l.partitions[partition]
	c := p.comparison
	p.comparison = nil
	is := map[store.Instance]bool{}
	var unknown []store.Instance
	for _, s := range stored {
		is[s.Instance] = true
		switch h := p.held[s.Instance]; {
		case h == nil && !c.claimed[s.Instance]:
			unknown = append(unknown, s.Instance)
		case h != nil && s.Notice:
			found.Mail = append(found.Mail, h.run)
		}
	}
	maps.DeleteFunc(p.failed, func(i store.Instance, _ time.Time) bool { return !is[i] })
	gone := p.runsWhere(func(i store.Instance, h *holding[R]) bool { return c.held[i] == h && !is[i] && !h.releasing })
	if c.recovered.IsZero() {
		found.Mail = append(found.Mail, gone...)
	} else {
		found.Lost = gone
		p.extend(c.recovered)
		if p.recovered.Equal(c.recovered) {
			p.recovered = time.Time{}
		}
	}
	found.GiveUp = l.giveUp(partition, unknown, now)
	return found
}

// NotCompared reports that the store could not be asked: it has to be asked again.
func (l *Leases[R]) NotCompared(partition int) {
	p := &l.partitions[partition]
	p.comparison, p.doubted = nil, true
}

// giveUp releases runs that the worker holds but does not execute. A run that could not be executed counts as the loss of an owner, and is
// not released before a lease would have expired. If the answer to its claim was lost, it is released immediately.
func (l *Leases[R]) giveUp(partition int, unknown []store.Instance, now time.Time) (requests []store.Promote) {
	p := &l.partitions[partition]
	var unanswered, failed []store.Instance
	for _, i := range unknown {
		switch since, hasFailed := p.failed[i]; {
		case !hasFailed:
			unanswered = append(unanswered, i)
		case now.Sub(since) < l.Length:
			p.doubted = true
			continue
		default:
			failed = append(failed, i)
		}
		p.givingUp[i] = true
	}
	if len(unanswered) > 0 {
		requests = append(requests, store.Promote{Partition: partition, Instances: unanswered, Worker: l.Worker})
	}
	if len(failed) > 0 {
		requests = append(requests, store.Promote{Partition: partition, Instances: failed, Worker: l.Worker, Died: true})
	}
	return requests
}

// GaveUp reports whether the store has answered a request to give runs up.
func (l *Leases[R]) GaveUp(request store.Promote, answered bool) {
	p := &l.partitions[request.Partition]
	p.doubted = p.doubted || !answered
	for _, i := range request.Instances {
		delete(p.givingUp, i)
		if answered {
			delete(p.failed, i)
		}
	}
}

// Polled handles the findings of a poll, and returns the runs to make ready: due runs, and the runs of workers whose leases expired, when
// it is certain that these workers are dead. lookAgain is how long that takes; 0 if there are no such workers.
func (l *Leases[R]) Polled(partition int, work store.Work, now time.Time) (request store.Promote, lookAgain time.Duration) {
	p := &l.partitions[partition]
	p.writes = work.Writes
	request = store.Promote{Partition: partition, Instances: slices.Clone(work.Due)}
	for _, ended := range work.Ended {
		left := l.contact.left(now)
		switch {
		case ended.Worker == l.Worker && len(ended.Instances) > 0:
			p.doubted = true // it is to be renewed
		case left > 0:
			lookAgain = left
		default:
			request.Instances, request.Gone = append(request.Instances, ended.Instances...), append(request.Gone, ended.Worker)
		}
	}
	return request, lookAgain
}
