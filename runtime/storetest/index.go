package storetest

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

func list(s *suite) {
	partition := s.partition(instance("x0"))
	var want []store.Instance
	for n := 0; len(want) < 7; n++ {
		if i := instance(fmt.Sprintf("x%d", n)); s.partition(i) == partition {
			s.start(i.ID)
			s.Advance(time.Millisecond)
			want = append([]store.Instance{i}, want...)
		}
	}
	var got []store.Instance
	cursor := ""
	for {
		page, err := s.List(s.ctx(), partition, cursor, 3)
		s.must(err)
		for _, item := range page.Items {
			got = append(got, item.Instance)
			if item.Lifecycle.Status != interpreter.StatusPending || len(item.Invocation) == 0 || item.Lifecycle.Created.IsZero() {
				s.Errorf("listed %+v", item)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("got %v, want %v", got, want)
	}
	listBehind(s, partition, want)
}

// listBehind: a list continues after any run. An invalid cursor is refused, or the list begins somewhere.
func listBehind(s *suite, partition int, want []store.Instance) {
	all, err := s.List(s.ctx(), partition, "", 7)
	s.must(err)
	for n, item := range all.Items {
		if page, err := s.List(s.ctx(), partition, item.Cursor, 7); err != nil || len(page.Items) != len(want)-n-1 {
			s.Errorf("behind %s are %d runs, %v", item.Instance, len(page.Items), err)
		}
	}
	for _, cursor := range []string{"x", "+", "-", "\x00", "1-1-1", "99999999999999999999-0"} {
		if _, err := s.List(s.ctx(), partition, cursor, 7); err != nil && store.RefusedAs(err) != store.NoSuch {
			s.Errorf("behind %q: %v", cursor, err)
		}
	}
}

// troubled: lists contain the failure of a run, and its number of attempts, without its state.
func troubled(s *suite) {
	i := s.start("a")
	claimed := s.claim(i)
	c := commit(claimed)
	c.Attempts, c.Retrying = 3, true
	c.Waits, c.Trouble = "event,timer", store.NewTrouble("urn:no stock % -\x00\nü", "/do/0/a b", "-", c.At)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	if r := s.load(i).Lifecycle; r.Attempts != 3 || !r.Retrying || r.Waits != c.Waits || r.Trouble != c.Trouble {
		s.Errorf("after a retry: %+v", r)
	}
	s.retried(i, 1, 0)
	c = commit(claimed)
	c.Version, c.Next, c.Retrying, c.Release, c.Ready = c.Version+1, c.Next+1, true, true, true
	since := s.load(i).Lifecycle.Trouble.Since
	c.Trouble = store.NewTrouble("urn:no stock % -\x00\nü", "/do/0/a b", "-", since.Add(time.Minute))
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	s.retried(i, 1, 1)
	if r := s.load(i).Lifecycle; !r.Trouble.Since.Equal(since) {
		s.Errorf("trouble that continues since %s began at %s", since, r.Trouble.Since)
	}
	claimed = s.claim(i)
	s.retried(i, 1, 0)
	c = commit(claimed)
	c.Attempts = 2
	c.Status, c.Reason, c.Failure = interpreter.StatusFaulted, store.ReasonTimedOut, store.NewFailure("urn:no stock % -\x00\nü", interpreter.DeadlineRun)
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	page, err := s.List(s.ctx(), s.partition(i), "", 1)
	s.must(err)
	if r := page.Items[0].Lifecycle; r.Attempts != 3 || r.Retrying || r.Failure != c.Failure {
		s.Errorf("listed %+v", r)
	}
	s.retried(i, 0, 0)
}

// retried checks the number of retried runs of a partition, and how many of them wait for their next attempt.
func (s *suite) retried(i store.Instance, want, backlog int64) {
	s.Helper()
	st, err := s.Statistics(s.ctx(), s.partition(i))
	s.must(err)
	if st.Retrying != want || st.Backlog != backlog {
		s.Errorf("%d runs are tried again, %d of which wait; want %d and %d", st.Retrying, st.Backlog, want, backlog)
	}
}

func upcoming(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release, c.Wake = true, c.At.Add(time.Minute)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	for until, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		got, err := s.Store.Upcoming(s.ctx(), s.partition(i), c.At.Add(until))
		s.must(err)
		if contains(got, i) != want {
			s.Errorf("before %s come %v", until, got)
		}
	}
}

func remove(s *suite) {
	i := s.start("a")
	other := s.start("b")
	claimed := s.claim(i)
	c := closing(claimed)
	c.Changes = interpreter.Changes{Head: []byte("h"), Frames: []interpreter.StoredFrame{{Key: 1, Data: []byte("f")}}}
	c.Entries = [][]byte{[]byte("{}")}
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	remove := store.Remove{Partition: s.partition(i), Instances: []store.Instance{i}, Age: time.Hour}
	if n, err := s.Store.Remove(s.ctx(), remove); n != 0 || err != nil {
		s.Errorf("removed %d, %v", n, err)
	}
	s.Advance(time.Hour)
	if n, err := s.Store.Remove(s.ctx(), remove); n != 1 || err != nil {
		s.Errorf("removed %d, %v", n, err)
	}
	_, err = s.Load(s.ctx(), i)
	s.refused(err, store.NoSuch)
	_, err = s.History(s.ctx(), i, 0, 1)
	s.refused(err, store.NoSuch)
	if w := s.poll(i); contains(w.Expired, i) {
		s.Error("still among the closed")
	}
	if n, err := s.Store.Remove(s.ctx(), store.Remove{Partition: s.partition(other), Instances: []store.Instance{other}}); n != 0 || err != nil {
		s.Errorf("removed %d instances in progress, %v", n, err)
	}
	s.start("a") // the id is free again
}

func scrubClean(s *suite) {
	for n := range 10 {
		i := s.start(fmt.Sprint("i", n))
		if n%2 == 0 {
			continue
		}
		c := commit(s.claim(i))
		c.Release, c.Wake = n%4 == 1, c.At.Add(time.Hour)
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
	}
	total := 0
	for partition := range s.Layout().Partitions {
		cursor := ""
		for {
			done, err := s.Store.Scrub(s.ctx(), store.Scrub{Partition: partition, Cursor: cursor, N: 2})
			s.must(err)
			total += done.Compared
			if len(done.Repaired) > 0 {
				s.Errorf("repaired %q", done.Repaired)
			}
			if cursor = done.Cursor; cursor == "" {
				break
			}
		}
	}
	if total != 10 {
		s.Errorf("compared %d instances", total)
	}
}

func adopt(s *suite) {
	i := s.start("a")
	c := s.claim(i)
	_, err := s.Store.Scrub(s.ctx(), store.Scrub{Partition: s.partition(i), N: 100, Adopt: true})
	s.must(err)
	_, err = s.Commit(s.ctx(), commit(c))
	s.refused(err, store.Fenced)
	s.claim(i)
}
