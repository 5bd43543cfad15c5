package storetest

import (
	"slices"
	"strings"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// activitiesLost: a run that waits for more activities than are stored is found by scrubbing, and becomes ready, so that its owner
// schedules them again. A check reports the same, and changes nothing.
func activitiesLost(s *suite) {
	i := instance("a")
	s.scheduled(i, 0)
	s.scrubs(i, "")
	lacking := commit(s.claimAfter(i))
	lacking.Release, lacking.Status, lacking.Awaits = true, interpreter.StatusWaiting, 3 // two of the three activities are not stored
	_, err := s.Commit(s.ctx(), lacking)
	s.must(err)
	s.scrubs(i, "test/a: 2 of the 3 activities that it waits for were lost")
	w := s.poll(i)
	if !slices.Contains(w.Begun, i) {
		s.Fatalf("the work is %+v", w)
	}
	s.scrubs(i, "")
	claimed := s.claim(i)
	s.scrubs(i, "") // its owner knows them
	if r := claimed.Lifecycle; r.Awaits != 3 || len(claimed.Activities) != 1 {
		s.Errorf("claimed is %+v, with %d activities", r, len(claimed.Activities))
	}
	if _, err := s.Commit(s.ctx(), closing(claimed)); err != nil {
		s.Error(err)
	}
	s.scrubs(i, "")
	j := instance("b")
	s.change(s.scheduled(j, 0), end("done"))
	s.scrubs(j, "") // its end is in transit
}

// claimAfter claims a parked run that gets a message.
func (s *suite) claimAfter(i store.Instance) store.Claimed {
	s.Helper()
	s.must(s.Deliver(s.ctx(), store.Delivery{To: i, ID: s.nonce(), Message: store.Message(`{}`)}))
	c := s.claim(i)
	read := commit(c)
	read.Read, read.Status = len(c.Inbox), interpreter.StatusRunning
	_, err := s.Commit(s.ctx(), read)
	s.must(err)
	c.Lifecycle = s.load(i).Lifecycle
	return c
}

// scrubs checks the repairs by a scrubbing of a run's partition, and by a mere check.
func (s *suite) scrubs(i store.Instance, want string) {
	s.Helper()
	others := func(other store.Instance) bool { return other != i }
	if done, err := s.Scrub(s.ctx(), store.Scrub{Partition: s.partition(i), N: 100, Only: others}); err != nil || len(done.Repaired) > 0 {
		s.Errorf("a repair of the other runs repairs %q: %v", done.Repaired, err)
	}
	for _, check := range []bool{true, false} {
		before := s.load(i).Lifecycle
		done, err := s.Scrub(s.ctx(), store.Scrub{Partition: s.partition(i), N: 100, Check: check})
		s.must(err)
		if got := strings.Join(done.Repaired, "; "); got != want {
			s.Errorf("check %t repairs %q, want %q", check, got, want)
		}
		if after := s.load(i).Lifecycle; after != before && (check || want == "") {
			s.Errorf("check %t changes %+v to %+v", check, before, after)
		}
	}
}
