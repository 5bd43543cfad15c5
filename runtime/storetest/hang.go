package storetest

import (
	"time"

	"github.com/swrun/swrun/runtime/store"
)

func hungOwner(s *suite) {
	i := s.start("a")
	claimed := s.claim(i)
	c := commit(claimed)
	c.Wake, c.Deadline = c.At.Add(time.Second), c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.Advance(time.Second + store.HangTolerance - margin)
	if p := s.promote(i); p.Ready != 0 {
		s.Error("revoked within the hang tolerance")
	}
	s.Advance(margin)
	if p := s.promote(i); p.Ready != 1 {
		s.Errorf("promoted %+v", p)
	}
	late := commit(claimed)
	late.Version, late.Next = late.Version+1, late.Next+1
	_, err = s.Commit(s.ctx(), late)
	s.refused(err, store.Fenced)
}

// busyOwner: an owner that works on a wake-up gets more time, and commits as if nothing had happened. Nobody else gets that time.
func busyOwner(s *suite) {
	i := s.start("a")
	claimed := s.claim(i)
	c := commit(claimed)
	c.Wake = c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	prolong := func(worker string) {
		p, err := s.Promote(s.ctx(), store.Promote{Partition: s.partition(i), Instances: []store.Instance{i}, Worker: worker, Busy: true})
		s.must(err)
		if p.Ready != 0 {
			s.Errorf("promoted %+v", p)
		}
	}
	prolong(claimed.Lifecycle.Owner)
	if r := s.load(i).Lifecycle; !r.Wake.Equal(c.Wake) {
		s.Errorf("a wake-up of the future was moved to %v, want %v", r.Wake, c.Wake)
	}
	for range 3 {
		s.Advance(time.Second + store.HangTolerance - margin)
		s.renew(i, claimed.Lifecycle.Owner)
		prolong("another")
		prolong(claimed.Lifecycle.Owner)
		s.Advance(margin)
		if p := s.promote(i); p.Ready != 0 {
			s.Error("revoked although its owner is busy")
		}
	}
	late := commit(claimed)
	late.Version, late.Next = late.Version+1, late.Next+1
	_, err = s.Commit(s.ctx(), late)
	s.must(err)
	if r := s.load(i).Lifecycle; r.Deaths != 0 {
		s.Errorf("%d deaths, want none", r.Deaths)
	}
}

// overdueOwner: a long overdue run is not immediately taken from the owner that just claimed it.
func overdueOwner(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release, c.Wake, c.Deadline = true, c.At.Add(time.Second), c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.Advance(time.Hour)
	s.promote(i)
	claimed := s.claim(i)
	if p := s.promote(i); p.Ready != 0 {
		s.Error("revoked immediately")
	}
	s.Advance(store.HangTolerance - margin)
	if p := s.promote(i); p.Ready != 0 {
		s.Error("revoked within the hang tolerance")
	}
	late := commit(claimed)
	late.At = late.At.Add(time.Millisecond)
	_, err = s.Commit(s.ctx(), late)
	s.must(err)
}
