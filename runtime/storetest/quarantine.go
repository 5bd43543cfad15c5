package storetest

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

func quarantine(s *suite) {
	i := s.start("a")
	s.die(i, store.DefaultMaxDeaths-1)
	s.quarantined(i, 0)
	s.die(i, 1)
	s.quarantined(i, 1)
	s.park(i, time.Time{})
	if got := s.tryClaim(i, s.nonce()); len(got) > 0 {
		s.Fatal("claimed although nothing is due")
	}
	if r := s.load(i).Lifecycle; r.Reason != store.Quarantined || r.Deaths != store.DefaultMaxDeaths {
		s.Errorf("the record is %+v", r)
	}
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "m", Message: store.Message("m")}))
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "s", Verb: store.VerbSuspend, Message: store.Message("s")}))
	if w := s.poll(i); contains(ready(w), i) {
		s.Error("a message wakes a quarantined run")
	}
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbRetry, Message: store.Message("r")}))
	s.quarantined(i, 0)
	c := s.claim(i)
	if c.Lifecycle.Reason != "" || c.Lifecycle.Deaths != 0 || len(c.Inbox) != 3 {
		s.Errorf("claimed %+v", c)
	}
}

// lostWhileWaitingForASlot: the loss of owners that did nothing for a run does not count for the run; other losses do.
func lostWhileWaitingForASlot(s *suite) {
	i := s.start("a")
	s.die(i, 1)
	for range store.DefaultMaxDeaths {
		c := commit(s.claim(i))
		c.AwaitsSlot = true
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
		s.Advance(lease + time.Millisecond)
		s.promote(i)
	}
	if r := s.load(i).Lifecycle; r.Deaths != 1 || r.Reason != "" {
		s.Errorf("the record is %+v", r)
	}
	s.die(i, 1)
	if r := s.load(i).Lifecycle; r.Deaths != 2 {
		s.Errorf("the record is %+v", r)
	}
}

// park claims a quarantined run, and gives it back to be checked again at a time.
func (s *suite) park(i store.Instance, wake time.Time) {
	s.Helper()
	claimed := s.claim(i)
	if claimed.Lifecycle.Reason != store.Quarantined {
		s.Fatalf("claimed %+v", claimed.Lifecycle)
	}
	_, err := s.Commit(s.ctx(), parked(claimed, wake))
	s.must(err)
}

func parked(claimed store.Claimed, wake time.Time) store.Commit {
	c := commit(claimed)
	c.Status, c.Reason, c.Wake, c.Deadline, c.Release = claimed.Lifecycle.Status, store.Quarantined, wake, wake, true
	return c
}

// quarantinedEnds: deadlines apply to quarantined runs, with or without messages.
func quarantinedEnds(s *suite) {
	i := s.start("a")
	s.die(i, store.DefaultMaxDeaths)
	end := s.poll(i).At.Add(time.Minute)
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "m", Message: store.Message("m")}))
	s.park(i, end)
	s.quarantined(i, 1)
	if w := s.poll(i); contains(ready(w), i) || !w.Next.Equal(end) {
		s.Errorf("the work is %+v", w)
	}
	upcoming, err := s.Upcoming(s.ctx(), s.partition(i), end)
	s.must(err)
	if !contains(upcoming, i) {
		s.Errorf("upcoming are %v", upcoming)
	}
	s.Advance(time.Minute)
	if p := s.promote(i); p.Ready != 1 {
		s.Errorf("promoted %+v", p)
	}
	c := commit(s.claim(i))
	c.Status, c.Reason = interpreter.StatusFaulted, "timed_out"
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	if r := s.load(i).Lifecycle; r.Reason != "timed_out" || r.Closed.IsZero() {
		s.Errorf("the record is %+v", r)
	}
	s.quarantined(i, 0)
}

// quarantined checks the number of quarantined runs in the partition of i, and that scrubbing finds no mistake in it.
func (s *suite) quarantined(i store.Instance, want int64) {
	s.Helper()
	st, err := s.Statistics(s.ctx(), s.partition(i))
	s.must(err)
	done, err := s.Store.Scrub(s.ctx(), store.Scrub{Partition: s.partition(i), N: 100})
	s.must(err)
	if st.Quarantined != want || len(done.Repaired) > 0 {
		s.Errorf("%d runs are quarantined, want %d; repaired %q", st.Quarantined, want, done.Repaired)
	}
}

func releasedMeanwhile(s *suite) {
	i := s.start("a")
	s.die(i, store.DefaultMaxDeaths)
	claimed := s.claim(i)
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbRetry, Message: store.Message("r")}))
	_, err := s.Commit(s.ctx(), parked(claimed, time.Time{}))
	s.must(err)
	s.quarantined(i, 0)
	if c := s.claim(i); c.Lifecycle.Reason != "" || c.Lifecycle.Deaths != 0 {
		s.Errorf("claimed %+v", c.Lifecycle)
	}
}

func quarantinedForGood(s *suite) {
	i := s.start("a")
	s.die(i, 2*store.DefaultMaxDeaths)
	s.quarantined(i, 1)
	if w := s.poll(i); contains(ready(w), i) || len(w.Due) > 0 || !w.Next.IsZero() {
		s.Errorf("there is work: %+v", w)
	}
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbCancel, Message: store.Message("c")}))
	if c := s.claim(i); c.Lifecycle.Reason != "" || len(c.Inbox) != 1 {
		s.Errorf("claimed %+v", c)
	}
}

// die lets n owners of i die.
func (s *suite) die(i store.Instance, n int) {
	s.Helper()
	for range n {
		s.claim(i)
		s.Advance(lease + time.Millisecond)
		s.promote(i)
	}
}
