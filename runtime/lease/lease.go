// Package lease decides how a worker treats the runs that it holds: when it renews its leases and how long it relies on them, which runs it
// lost, which runs it compares with the store, which runs it gives up, and whose runs it may take. The worker drives it with goroutines and
// real time, the simulation with virtual time. It calls no store and reads no clock. It does not decide how a run continues: package
// execution does.
package lease

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Config specifies the owner of the leases, and their length.
type Config struct {
	Worker string
	Length time.Duration
	Poll   time.Duration // how often the worker asks the store for writes
}

// Interval is how often the driver asks for Renewal and Comparisons.
func (c Config) Interval() time.Duration { return c.Length / 10 }

// CallTimeout is how long a call about leases may take: after one without an answer there is time for another.
func (c Config) CallTimeout() time.Duration { return c.Length / 3 }

// Leases are a worker's leases in the partitions of a store, with the runs that it holds. R is the driver's executor of a run. All times
// are by the worker's own clock. It is not safe for concurrent use.
type Leases[R comparable] struct {
	Config
	partitions []partition[R]
	contact    contact
	draining   bool
	leaving    bool
}

// partition is the state of a worker's lease in one partition.
type partition[R comparable] struct {
	asked     time.Time // when the current lease was requested: it cannot have begun earlier
	recovered time.Time // when a lease was requested after one that could no longer be trusted; zero for none

	held   map[store.Instance]*holding[R]
	claims map[store.Instance]int       // claims that are on their way
	failed map[store.Instance]time.Time // since when runs that are held cannot be executed

	writes     int64 // to the partition, when it was polled last
	doubted    bool  // the held runs may differ from the store
	comparison *comparison[R]
	compared   time.Time
	comparedAt int64                   // the number of writes then
	givingUp   map[store.Instance]bool // while the store is asked to
}

// holding is a run that is held.
type holding[R comparable] struct {
	run       R
	asked     time.Time // when it was claimed
	releasing bool      // a commit that gives it back is on its way
	abandoned bool      // its lease could not be renewed for too long: it ends as soon as possible, and the store may still list it as held
}

// New returns the leases of a worker that holds nothing yet.
func New[R comparable](c Config, partitions int) *Leases[R] {
	l := &Leases[R]{Config: c, partitions: make([]partition[R], partitions), contact: newContact(c)}
	for n := range l.partitions {
		l.partitions[n] = partition[R]{
			held: map[store.Instance]*holding[R]{}, claims: map[store.Instance]int{},
			failed: map[store.Instance]time.Time{}, givingUp: map[store.Instance]bool{},
		}
	}
	return l
}

// Drain reports that the worker polls no more.
func (l *Leases[R]) Drain() { l.draining = true }

// Leave reports that the worker waits for nothing any more.
func (l *Leases[R]) Leave() { l.leaving = true }

// Leased returns the partitions in which the worker has had a lease.
func (l *Leases[R]) Leased() (partitions []int) {
	for n := range l.partitions {
		if !l.partitions[n].asked.IsZero() {
			partitions = append(partitions, n)
		}
	}
	return partitions
}

// Trust is how far a worker may rely on its lease.
type Trust int

// The degrees of trust.
const (
	Valid   Trust = iota // no other worker can hold the runs
	Unsure               // nothing may begin; effects in flight continue, since the lease may still be renewed
	Expired              // the runs are lost
)

// Trust returns how far the worker may rely on its lease in a partition. It relies on it for less time than the store does.
func (l *Leases[R]) Trust(partition int, now time.Time) Trust {
	switch {
	case now.Before(l.partitions[partition].asked.Add(l.Length - l.Length/5)):
		return Valid
	case l.leaving:
		return Expired
	}
	return Unsure
}

// keepUnsure is how long runs are kept whose lease cannot be renewed. Most likely the store is unreachable for all workers.
const keepUnsure = 10 * time.Second

// Renewal returns which leases to renew now; none if it has no partitions. Lost are the runs whose leases could not be renewed
// for so long that they are given up.
func (l *Leases[R]) Renewal(now time.Time) (request store.Renew, lost []R) {
	request = store.Renew{Worker: l.Worker, Lease: l.Length}
	isTime := false
	for n := range l.partitions {
		p := &l.partitions[n]
		if len(p.held) == 0 {
			continue
		}
		age := now.Sub(p.asked)
		isTime = isTime || age > l.Length/3
		if age > l.Length/6 { // one call for them, instead of a second one soon
			request.Partitions = append(request.Partitions, n)
		}
		if age >= max(keepUnsure, l.Length) {
			p.doubted = true
			for _, h := range p.held {
				h.abandoned = true
			}
			lost = append(lost, p.runs()...)
		}
	}
	if !isTime {
		request.Partitions = nil
	}
	return request, lost
}

// Renewed handles the answer to a renewal that was sent at a time. Lost are the runs in partitions that know of no lease of the
// worker any more. After a lease that could not be trusted, others may have taken something: the next one is trusted once
// that is known.
func (l *Leases[R]) Renewed(request store.Renew, sent, now time.Time, renewed []store.Renewed) (lost []R) {
	lasts := map[int]bool{}
	for _, r := range renewed {
		p := &l.partitions[r.Partition]
		if lasts[r.Partition] = true; l.Trust(r.Partition, now) == Valid {
			p.extend(sent)
		} else {
			p.doubted, p.recovered = true, sent
		}
	}
	for _, n := range request.Partitions {
		if !lasts[n] {
			p := &l.partitions[n]
			lost = append(lost, p.runsWhere(func(_ store.Instance, h *holding[R]) bool { return h.asked.Before(sent) && !h.releasing })...)
		}
	}
	return lost
}

// extend notes that the lease was asked for again at a time, and granted.
func (p *partition[R]) extend(sent time.Time) {
	if sent.After(p.asked) {
		p.asked = sent
	}
}

// runs returns all runs that are held, in order.
func (p *partition[R]) runs() []R {
	return p.runsWhere(func(store.Instance, *holding[R]) bool { return true })
}

// runsWhere returns some of the runs that are held, in order.
func (p *partition[R]) runsWhere(is func(store.Instance, *holding[R]) bool) (all []R) {
	for _, i := range slices.SortedFunc(maps.Keys(p.held), byName) {
		if h := p.held[i]; is(i, h) {
			all = append(all, h.run)
		}
	}
	return all
}

func byName(a, b store.Instance) int { return strings.Compare(a.String(), b.String()) }
