package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

func startOnce(s *suite) {
	i := s.start("a")
	again, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(`{"of":"a"}`)})
	s.must(err)
	if !again.Again {
		s.Error("the second start is answered like the first")
	}
	if got := string(s.load(i).Invocation); got != `{"of":"a"}` {
		s.Errorf("the second start wrote %s", got)
	}
	_, err = s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte("other")})
	s.refused(err, store.Conflict)
	if w := s.poll(i); !contains(ready(w), i) {
		s.Errorf("the work is %+v", w)
	}
}

func startFamily(s *suite) {
	start := func(id, family string, code store.Code) {
		s.Helper()
		_, err := s.Store.Start(s.ctx(), store.Start{Instance: instance(id), Family: instance(family), FamilyMax: 2})
		if code == "" {
			s.must(err)
		} else {
			s.refused(err, code)
		}
	}
	p := instance("a").Partition(s.Layout().Partitions)
	var ids []string // of one partition
	for n := 0; len(ids) < 4; n++ {
		if id := fmt.Sprintf("r%d", n); instance(id).Partition(s.Layout().Partitions) == p {
			ids = append(ids, id)
		}
	}
	start(ids[0], "a", "")
	start(ids[1], "a", "")
	start(ids[1], "a", "") // the same start
	start(ids[2], "a", store.TooMany)
	start(ids[2], "b", "")
	s.Advance(24 * time.Hour)
	start(ids[3], "a", "")
}

func startLater(s *suite) {
	i := instance("a")
	started, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Delay: time.Minute})
	s.must(err)
	if w := s.poll(i); len(ready(w)) > 0 || len(w.Due) > 0 || !w.Next.Equal(started.At.Add(time.Minute)) {
		s.Errorf("there is work: %+v", w)
	}
	s.Advance(time.Minute)
	if p := s.promote(i); p.Ready != 1 {
		s.Errorf("promoted %+v", p)
	}
	if c := s.claim(i); c.Lifecycle.Started.Before(started.At.Add(time.Minute)) || c.Lifecycle.Status != interpreter.StatusRunning {
		s.Errorf("claimed as %+v", c.Lifecycle)
	}
}

func deadlineBeforeStart(s *suite) {
	i := s.start("a")
	now := s.poll(i).At
	b := instance("b")
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: b, Delay: time.Hour, Deadline: now.Add(time.Minute)})
	s.must(err)
	s.Advance(2 * time.Minute)
	s.promote(b)
	if c := s.claim(b); c.Lifecycle.Status != interpreter.StatusPending || !c.Lifecycle.Deadline.Equal(now.Add(time.Minute)) {
		s.Errorf("claimed as %+v", c.Lifecycle)
	}
}

func claimOnce(s *suite) {
	i := s.start("a")
	c := s.claim(i)
	if c.Token.Epoch != 1 || string(c.Invocation) != `{"of":"a"}` || c.State.Head != nil || len(c.State.Frames) > 0 {
		s.Errorf("claimed %+v", c)
	}
	if more := s.tryClaim(i, s.nonce()); len(more) > 0 {
		s.Error("claimed twice")
	}
	if w := s.poll(i); contains(ready(w), i) {
		s.Error("still ready")
	}
}

// dueOnce: a run that hangs and whose lease expired is due once.
func dueOnce(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Wake = c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.Advance(lease + store.HangTolerance)
	w := s.poll(i)
	if len(w.Due) != 1 || len(w.Ended) != 1 || len(w.Ended[0].Instances) != 0 {
		s.Errorf("the work is %+v", w)
	}
}

func claimAgain(s *suite) {
	i := s.start("a")
	first := s.tryClaim(i, "same")
	again := s.tryClaim(i, "same")
	if len(first) != 1 || len(again) != 1 || first[0].Token != again[0].Token {
		s.Errorf("got %v and %v", first, again)
	}
}

func claimStarts(s *suite) {
	i := s.start("a")
	s.Advance(time.Second)
	c := s.claim(i)
	before := c.At.Sub(c.Lifecycle.Started) // a store may read the time first, and then write
	if before < 0 || before >= margin || c.Lifecycle.Status != interpreter.StatusRunning {
		s.Errorf("claimed at %s as %+v", c.At, c.Lifecycle)
	}
	s.Advance(lease + time.Millisecond)
	s.promote(i)
	if again := s.claim(i); again.Lifecycle.Started != c.Lifecycle.Started {
		s.Error("the time of the start has moved")
	}
}

func claimNotReady(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release, c.Wake = true, c.At.Add(time.Minute)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	if got := s.tryClaim(i, s.nonce()); len(got) > 0 {
		s.Error("claimed an instance that waits")
	}
	unknown := instance("unknown")
	if got := s.tryClaim(unknown, s.nonce()); len(got) > 0 {
		s.Error("claimed an instance that is not there")
	}
	p, err := s.Promote(s.ctx(), store.Promote{Partition: s.partition(unknown), Instances: []store.Instance{unknown}})
	s.must(err)
	if p.Ready > 0 {
		s.Error("promoted an instance that is not there")
	}
	for n := range s.Layout().Partitions {
		st, err := s.Statistics(s.ctx(), n)
		s.must(err)
		if st.Ready > 0 || st.Waiting > 1 || st.Waiting == 1 && n != s.partition(i) {
			s.Errorf("partition %d has %+v", n, st)
		}
	}
}

// endsBeforeStart: a run can end at its deadline before its start, whether it waits for its time or for an owner.
func endsBeforeStart(s *suite) {
	for name, delay := range map[string]time.Duration{"delayed": time.Hour, "queued": 0} {
		i := instance(name)
		started, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Delay: delay, Deadline: s.poll(i).At.Add(time.Minute)})
		s.must(err)
		s.Advance(time.Minute + time.Second)
		s.promote(i)
		claimed := s.claim(i)
		if claimed.Lifecycle.Status != interpreter.StatusPending {
			s.Errorf("%s, started at %s: claimed as %+v", name, started.At, claimed.Lifecycle)
		}
		c := commit(claimed)
		c.Status, c.Reason = interpreter.StatusFaulted, "timed_out"
		_, err = s.Commit(s.ctx(), c)
		s.must(err)
		if r := s.load(i).Lifecycle; !r.Started.IsZero() || r.Closed.IsZero() {
			s.Errorf("%s: the record is %+v", name, r)
		}
	}
}

func progress(s *suite) {
	i := s.start("a")
	s.die(i, store.DefaultMaxDeaths-1)
	c := commit(s.claim(i))
	for range 2 { // the first commit does not count as progress
		c.Entries, c.Records = [][]byte{[]byte("{}")}, 1
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
		c.Version, c.Next = c.Next, c.Next+1
	}
	s.Advance(lease + time.Millisecond)
	s.promote(i)
	if got := s.claim(i).Lifecycle.Deaths; got != 1 {
		s.Errorf("%d deaths", got)
	}
}

func promoteDue(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release, c.Wake = true, c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	w := s.poll(i)
	if len(w.Due) > 0 || !w.Next.Equal(c.Wake) {
		s.Errorf("the work is %+v", w)
	}
	p, err := s.Store.Promote(s.ctx(), store.Promote{Partition: s.partition(i), Instances: []store.Instance{i}})
	s.must(err)
	if p.Ready != 0 {
		s.Errorf("promoted early: %+v", p)
	}
	s.Advance(time.Second)
	if p := s.promote(i); p.Ready != 1 || !s.poll(i).Next.IsZero() {
		s.Errorf("promoted %+v", p)
	}
	if p := s.promote(i); p.Ready != 0 {
		s.Error("promoted twice")
	}
	if got := s.claim(i); got.Lifecycle.Deaths != 0 {
		s.Error("waiting counts as a death")
	}
}

func overdueFirst(s *suite) {
	first := s.start("a")
	c := commit(s.claim(first))
	c.Release, c.Wake = true, c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.start(s.neighbour(first, "b").ID)
	s.Advance(2 * time.Second)
	s.promote(first)
	if w := s.poll(first); len(w.Begun) != 1 || w.Begun[0] != first || len(w.New) != 1 {
		s.Errorf("the work is %+v", w)
	}
}

// neighbour returns the name of another run of the same partition.
func (s *suite) neighbour(of store.Instance, prefix string) store.Instance {
	for n := 0; ; n++ {
		if i := instance(fmt.Sprintf("%s%d", prefix, n)); s.partition(i) == s.partition(of) {
			return i
		}
	}
}

// begunFirst: runs that were handed over, got a message or a command, or are timed already precede new runs.
func begunFirst(s *suite) {
	fresh := s.start("a")
	handed := s.start(s.neighbour(fresh, "b").ID)
	c := commit(s.claim(handed))
	c.Release, c.Ready = true, true
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.Advance(time.Millisecond)
	told := s.start(s.neighbour(fresh, "c").ID)
	c = commit(s.claim(told))
	c.Release = true
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: told, ID: "m", Message: store.Message("m")}))
	s.Advance(time.Millisecond)
	timed := s.neighbour(fresh, "d")
	_, err = s.Store.Start(s.ctx(), store.Start{Instance: timed, Urgent: true})
	s.must(err)
	s.Advance(time.Millisecond)
	ordered := s.start(s.neighbour(fresh, "e").ID)
	s.must(s.Store.Command(s.ctx(), store.Command{To: ordered, ID: "o", Verb: store.VerbCancel}))
	w := s.poll(fresh)
	if want := []store.Instance{handed, told, timed, ordered, fresh}; len(w.Begun) != 4 || !slices.Equal(ready(w), want) {
		s.Errorf("begun %v, new %v; want %v", w.Begun, w.New, want)
	}
}

func concurrentClaims(s *suite) {
	i := s.start("a")
	var group sync.WaitGroup
	taken := make([]int, 16)
	for n := range taken {
		group.Go(func() {
			claimed, err := s.Claim(s.ctx(), store.Claim{
				Partition: s.partition(i), Instances: []store.Instance{i}, Worker: worker, Nonce: fmt.Sprintf("n%d", n), Lease: lease,
			})
			if err != nil {
				s.Error(err)
			}
			taken[n] = len(claimed)
		})
	}
	group.Wait()
	total := 0
	for _, n := range taken {
		total += n
	}
	if total != 1 {
		s.Errorf("claimed %d times", total)
	}
}

// startAsked: a start that no commit has counted is counted for the run that has led to it, in any partition, once; a start above the limit is
// refused.
func startAsked(s *suite) {
	root := instance("root")
	start := func(id string, before int64, code store.Code) {
		s.Helper()
		started, err := s.Store.Start(s.ctx(), store.Start{Instance: instance(id), Asked: store.Asked{Of: root, Kind: store.AskedByEvents, N: 1, Max: 5}})
		if code == "" {
			s.must(err)
			return
		}
		if s.refused(err, code); started.Asked != before {
			s.Errorf("before were asked for %d, want %d", started.Asked, before)
		}
		s.refused(s.Store.Deliver(s.ctx(), store.Delivery{To: instance(id), ID: "m", Message: store.Message("m")}), store.NoSuch)
	}
	for n := range 4 {
		start(fmt.Sprintf("r%d", n), 0, "")
		start(fmt.Sprintf("r%d", n), 0, "") // the same start
	}
	i := s.start("by-commit")
	c := commit(s.claim(i))
	c.Asked = store.Asked{Of: root, Kind: store.AskedByEvents, N: 1, Max: 5}
	_, err := s.Store.Commit(s.ctx(), c) // it counts together with the starts
	s.must(err)
	start("r5", 5, store.TooMany)
	start("r3", 0, "") // it exists already
	s.Advance(24 * time.Hour)
	start("r5", 0, "")
}
