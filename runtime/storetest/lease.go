package storetest

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// margin is the distance to a time at which a case checks that nothing happens too early. It is large, because the store's own time continues during
// the check, on a busy machine too.
const margin = time.Second

// renew prolongs the lease of a worker in the partition of a run, and reports whether the lease exists.
func (s *suite) renew(i store.Instance, worker string) bool {
	s.Helper()
	renewed, err := s.Store.Renew(s.ctx(), store.Renew{Worker: worker, Partitions: []int{s.partition(i)}, Lease: lease})
	s.must(err)
	if len(renewed) > 0 && (renewed[0].Partition != s.partition(i) || renewed[0].At.IsZero()) {
		s.Errorf("renewed %+v", renewed)
	}
	return len(renewed) > 0
}

// claimAs lets a worker claim a run.
func (s *suite) claimAs(worker string, i store.Instance) store.Claimed {
	s.Helper()
	claimed, err := s.Claim(s.ctx(), store.Claim{
		Partition: s.partition(i), Instances: []store.Instance{i}, Worker: worker, Nonce: s.nonce(), Lease: lease,
	})
	s.must(err)
	if len(claimed) != 1 {
		s.Fatalf("%s claimed %d instances", worker, len(claimed))
	}
	return claimed[0]
}

func renew(s *suite) {
	i := s.start("a")
	if s.renew(i, worker) {
		s.Error("renewed leases that the worker does not hold")
	}
	c := s.claim(i)
	if l := s.load(i).Lifecycle; l.Owner != worker || l.Lease.Sub(c.At.Add(lease)).Abs() > margin {
		s.Errorf("the record is %+v", l)
	}
	s.Advance(lease / 2)
	if !s.renew(i, worker) {
		s.Error("not renewed")
	}
	s.Advance(lease/2 + margin)
	if w := s.poll(i); len(w.Ended) > 0 || !w.Lease.After(w.At) {
		s.Errorf("the lease expired anyway: %+v", w)
	}
	if p := s.promote(i); p.Ready != 0 {
		s.Error("taken away although the lease continues")
	}
	c.At = s.poll(i).At
	_, err := s.Commit(s.ctx(), commit(c))
	s.must(err)
}

func renewMany(s *suite) {
	all := make([]int, s.Layout().Partitions)
	held := map[int]bool{}
	for n := range all {
		all[n] = n
	}
	for _, id := range []string{"a", "b", "c"} {
		i := s.start(id)
		s.claim(i)
		held[s.partition(i)] = true
	}
	renewed, err := s.Store.Renew(s.ctx(), store.Renew{Worker: worker, Partitions: all, Lease: lease})
	s.must(err)
	for _, r := range renewed {
		if !held[r.Partition] {
			s.Errorf("renewed in partition %d", r.Partition)
		}
		delete(held, r.Partition)
	}
	if len(held) > 0 {
		s.Errorf("not renewed in %v", held)
	}
}

// renewLate: a worker keeps its runs with a late renewal if no run was taken from it before.
func renewLate(s *suite) {
	i := s.start("a")
	c := s.claim(i)
	s.Advance(lease + margin)
	if w := s.poll(i); len(w.Ended) != 1 || w.Ended[0].Worker != worker || !contains(w.Ended[0].Instances, i) {
		s.Errorf("the work is %+v", w)
	}
	if !s.renew(i, worker) {
		s.Error("not renewed")
	}
	if w := s.poll(i); len(w.Ended) != 0 {
		s.Errorf("the work is %+v", w)
	}
	_, err := s.Promote(s.ctx(), store.Promote{Partition: s.partition(i), Instances: []store.Instance{i}, Gone: []string{worker}})
	s.must(err)
	_, err = s.Commit(s.ctx(), commit(c))
	s.must(err)
	if !s.renew(i, worker) {
		s.Error("not renewed once more")
	}
}

// ownLease: a stopping worker removes its lease before its end, unless it still holds a run.
func ownLease(s *suite) {
	i := s.start("a")
	c := s.claim(i)
	forget := func(asks string) {
		_, err := s.Promote(s.ctx(), store.Promote{Partition: s.partition(i), Worker: asks, Gone: []string{worker}})
		s.must(err)
	}
	forget(worker)
	if !s.renew(i, worker) {
		s.Error("the lease of a worker that holds a run is forgotten")
	}
	over := commit(c)
	over.Status = interpreter.StatusCompleted
	_, err := s.Commit(s.ctx(), over)
	s.must(err)
	forget("other")
	if !s.renew(i, worker) {
		s.Error("a lease that lasts is forgotten because another worker asks for it")
	}
	forget(worker)
	if s.renew(i, worker) {
		s.Error("the lease is not forgotten")
	}
}

func renewLost(s *suite) {
	i := s.start("a")
	c := s.claim(i)
	s.Advance(lease + margin)
	s.promote(i)
	s.promote(i) // it finds that nothing is left
	if s.renew(i, worker) {
		s.Error("a lease was renewed after all of its runs were taken")
	}
	s.claimAs("other", i)
	if s.renew(i, worker) || !s.renew(i, "other") {
		s.Error("the lease is in wrong hands")
	}
	_, err := s.Commit(s.ctx(), commit(c))
	s.refused(err, store.Fenced)
}

func heldBy(s *suite) {
	i := s.start("a")
	j := s.start(s.neighbour(i, "b").ID)
	k := s.start(s.neighbour(i, "c").ID)
	claimed := s.claim(i)
	s.claim(j)
	s.claimAs("other", k)
	expect := func(want ...store.Held) {
		s.Helper()
		got, err := s.Store.HeldBy(s.ctx(), s.partition(i), worker)
		s.must(err)
		slices.SortFunc(got, func(a, b store.Held) int { return int(a.Instance.ID[0]) - int(b.Instance.ID[0]) })
		if !slices.Equal(got, want) {
			s.Errorf("held are %v, want %v", got, want)
		}
	}
	expect(store.Held{Instance: i}, store.Held{Instance: j})
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "m", Message: store.Message("m")}))
	expect(store.Held{Instance: i, Notice: true}, store.Held{Instance: j})
	c := commit(claimed)
	c.Read = 1
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	expect(store.Held{Instance: i}, store.Held{Instance: j})
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "n", Message: store.Message("n")}))
	c.Version, c.Next, c.Read, c.Release = c.Version+1, c.Next+1, 0, true
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	expect(store.Held{Instance: j})
}

func leaseEnds(s *suite) {
	i := s.start("a")
	stale := s.claim(i)
	s.Advance(lease - margin)
	if p := s.promote(i); p.Ready != 0 {
		s.Error("taken away early")
	}
	s.Advance(margin)
	s.promote(i)
	c := s.claim(i)
	if c.Token.Epoch != 2 || c.Lifecycle.Deaths != 1 {
		s.Errorf("claimed %+v", c)
	}
	_, err := s.Commit(s.ctx(), commit(stale))
	s.refused(err, store.Fenced)
	forged := commit(c)
	forged.Token.Nonce = "forged"
	_, err = s.Commit(s.ctx(), forged)
	s.refused(err, store.Fenced)
}

// leasesApart: the end of one worker's lease does not affect the runs of others.
func leasesApart(s *suite) {
	i := s.start("a")
	j := s.start(s.neighbour(i, "b").ID)
	s.claimAs("first", i)
	s.Advance(lease / 2)
	s.claimAs("second", j)
	if w := s.poll(i); len(w.Ended) > 0 || w.Lease.IsZero() || w.Lease.After(w.At.Add(lease/2)) {
		s.Errorf("the work is %+v", w)
	}
	s.Advance(lease / 2)
	if p := s.promote(i); p.Ready != 1 {
		s.Errorf("promoted %+v", p)
	}
	if w := s.poll(i); !contains(w.Begun, i) || contains(w.Begun, j) || w.Lease.IsZero() {
		s.Errorf("the work is %+v", w)
	}
	written, err := s.Written(s.ctx())
	s.must(err)
	if at := written[s.partition(i)].Lease; at.IsZero() {
		s.Error("the continuing lease is not reported")
	}
}

// givenUp: a worker gives up only the runs that it really holds.
func givenUp(s *suite) {
	i := s.start("a")
	j := s.start(s.neighbour(i, "b").ID)
	stale := s.claimAs("first", i)
	s.claimAs("second", j)
	for _, died := range []bool{false, true} {
		p, err := s.Promote(s.ctx(), store.Promote{
			Partition: s.partition(i), Instances: []store.Instance{i, j}, Worker: "first", Died: died,
		})
		s.must(err)
		if p.Ready != 1 {
			s.Errorf("promoted %+v", p)
		}
		_, err = s.Commit(s.ctx(), commit(stale))
		s.refused(err, store.Fenced)
		deaths := map[bool]int64{false: 0, true: 1}[died]
		if stale = s.claimAs("first", i); stale.Lifecycle.Deaths != deaths {
			s.Errorf("%d deaths, want %d", stale.Lifecycle.Deaths, deaths)
		}
	}
}
