package storetest

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

func commitChanges(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Changes = interpreter.Changes{
		Head: []byte(`{"a":1}`), Context: []byte(`{"b":[]}`),
		Frames: []interpreter.StoredFrame{{Key: 1, Data: []byte(`{"f":1}`)}, {Key: 2, Data: []byte(`{"f":2}`)}},
	}
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	c.Version, c.Next = c.Version+1, c.Next+1
	c.Changes = interpreter.Changes{
		Head: []byte(`{"a":2}`), Frames: []interpreter.StoredFrame{{Key: 12, Data: []byte(`{"f":12}`)}}, Ended: []interpreter.FrameKey{2},
	}
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	l := s.load(i)
	frames := l.State.Frames
	if string(l.State.Head) != `{"a":2}` || string(l.State.Context) != `{"b":[]}` || len(frames) != 2 ||
		string(frames[1]) != `{"f":1}` || string(frames[12]) != `{"f":12}` {
		s.Errorf("stored are %s %s %v", l.State.Head, l.State.Context, frames)
	}
	if l.Lifecycle.Version != 2 || l.Lifecycle.Status != interpreter.StatusRunning {
		s.Errorf("the record is %+v", l.Lifecycle)
	}
}

// commitInvocation: the definition of a run is replaced together with its state, and a commit without one leaves it unchanged.
func commitInvocation(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Invocation, c.Changes = []byte(`{"d":"other"}`), interpreter.Changes{Head: []byte(`{"a":1}`)}
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	c.Version, c.Next, c.Invocation, c.Changes.Head = c.Version+1, c.Next+1, nil, []byte(`{"a":2}`)
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	stale := c
	stale.Version, stale.Invocation = 0, []byte(`{"d":"stale"}`)
	stale.Next = 9
	if _, err = s.Commit(s.ctx(), stale); store.RefusedAs(err) != store.Conflict {
		s.Errorf("a commit to an older version: %v", err)
	}
	l := s.load(i)
	page, err := s.List(s.ctx(), i.Partition(s.Layout().Partitions), "", 10)
	s.must(err)
	if string(l.Invocation) != `{"d":"other"}` || string(l.State.Head) != `{"a":2}` || len(page.Items) != 1 || string(page.Items[0].Invocation) != string(l.Invocation) {
		s.Errorf("stored are %s %s, listed %+v", l.Invocation, l.State.Head, page.Items)
	}
}

func commitAgain(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Entries, c.Records, c.Outbox = [][]byte{[]byte("{}")}, 1, [][]byte{[]byte("out")}
	for range 3 {
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
	}
	c.Version, c.Next = c.Version+1, c.Next+1
	c.Release = true
	for range 3 { // also when the token is no longer valid
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
	}
	if r := s.load(i).Lifecycle; r.Version != 2 || r.Entries != 2 || r.Records != 2 {
		s.Errorf("the record is %+v", r)
	}
	if out := s.poll(i).Outbox; len(out) != 2 {
		s.Errorf("the outbox has %d entries", len(out))
	}
}

func commitVersion(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Version += 2
	_, err := s.Commit(s.ctx(), c)
	s.refused(err, store.RolledBack)
	if r := s.load(i).Lifecycle; r.Version != 0 {
		s.Errorf("the record is %+v", r)
	}
}

// commitOvertaken: a refused commit is repeated, and is accepted this time, before another one of its version.
func commitOvertaken(s *suite) {
	i := s.start("a")
	first := commit(s.claim(i))
	first.Changes.Head = []byte("first")
	second := first
	second.Next++
	second.Changes.Head = []byte("second")
	_, err := s.Commit(s.ctx(), first)
	s.must(err)
	_, err = s.Commit(s.ctx(), second)
	s.refused(err, store.Conflict)
	_, err = s.Commit(s.ctx(), first) // the first answer is repeated
	s.must(err)
	if l := s.load(i); string(l.State.Head) != "first" || l.Lifecycle.Version != first.Next {
		s.Errorf("stored is %s, %+v", l.State.Head, l.Lifecycle)
	}
}

func commitFenced(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	stale := c
	stale.Token.Epoch--
	stale.Changes.Head = []byte("stale")
	_, err := s.Commit(s.ctx(), stale)
	s.refused(err, store.Fenced)
	c.Release = true
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	c.Version, c.Next = c.Version+1, c.Next+1
	_, err = s.Commit(s.ctx(), c)
	s.refused(err, store.Fenced)
	if l := s.load(i); l.State.Head != nil {
		s.Error("a stale commit was stored")
	}
}

func commitClosed(s *suite) {
	i := s.start("a")
	claimed := s.claim(i)
	done := closing(claimed)
	_, err := s.Commit(s.ctx(), done)
	s.must(err)
	_, err = s.Commit(s.ctx(), done) // the answer is repeated
	s.must(err)
	done.Version, done.Next = done.Version+1, done.Next+1
	_, err = s.Commit(s.ctx(), done)
	s.refused(err, store.Closed)
	r := s.load(i).Lifecycle
	if r.Status != interpreter.StatusCompleted || r.Closed.IsZero() || r.Held() || r.Reason != "completed" {
		s.Errorf("the record is %+v", r)
	}
	if w := s.poll(i); contains(ready(w), i) || contains(w.Due, i) || !contains(w.Expired, i) {
		s.Errorf("the work is %+v", w)
	}
}

// commitTimedOut: a commit exactly at the deadline is too late.
func commitTimedOut(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Deadline = c.At.Add(time.Second)
	c.Wake = c.Deadline
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	result := c
	result.Version, result.Next = result.Version+1, result.Next+1
	result.At = s.poll(i).At
	s.Advance(c.Deadline.Sub(result.At))
	_, err = s.Commit(s.ctx(), result)
	s.refused(err, store.TimedOut)
	if r := s.load(i).Lifecycle; r.Version != 1 {
		s.Errorf("the record is %+v", r)
	}
}

// commitGuarded: a deadline that was set and met by the steps of one commit holds for it too.
func commitGuarded(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Guard = c.At.Add(time.Second)
	s.Advance(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.refused(err, store.TimedOut)
	c.Guard = c.Guard.Add(time.Hour)
	for range 2 { // once in each possible form of a store
		_, err = s.Commit(s.ctx(), c)
		s.must(err)
		c.Version, c.Next = c.Version+1, c.Next+1
	}
	c.Guard = s.poll(i).At
	_, err = s.Commit(s.ctx(), c)
	s.refused(err, store.TimedOut)
}

func commitTimeout(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Deadline, c.Wake = c.At.Add(time.Second), c.At.Add(time.Second)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.Advance(time.Second)
	timeout := c
	timeout.Version, timeout.Next = timeout.Version+1, timeout.Next+1
	timeout.At = c.Deadline
	timeout.Deadline, timeout.Wake = time.Time{}, time.Time{}
	_, err = s.Commit(s.ctx(), timeout)
	s.must(err)
}

func commitGuard(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.At = c.At.Add(time.Hour)
	_, err := s.Commit(s.ctx(), c)
	s.refused(err, store.TooEarly)
}

func commitNoSuch(s *suite) {
	c := store.Commit{Instance: instance("a"), Token: store.Token{Epoch: 1, Nonce: "n"}, Status: interpreter.StatusRunning}
	_, err := s.Commit(s.ctx(), c)
	s.refused(err, store.NoSuch)
}

func release(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release = true
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	r := s.load(i).Lifecycle
	if r.Held() || !r.Ready.IsZero() {
		s.Errorf("the record is %+v", r)
	}
	s.Advance(time.Hour)
	if w := s.poll(i); contains(ready(w), i) || contains(w.Due, i) {
		s.Errorf("a run that waits only for messages is work: %+v", w)
	}
}

func releaseUnread(s *suite) {
	i := s.start("a")
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "1", Message: store.Message("one")}))
	claimed := s.claim(i)
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "2", Message: store.Message("two")}))
	c := commit(claimed)
	c.Release, c.Read = true, len(claimed.Inbox)
	done, err := s.Commit(s.ctx(), c)
	s.must(err)
	if !done.Mail {
		s.Error("the owner does not learn of the second message")
	}
	again := s.claim(i)
	if len(again.Inbox) != 1 || string(again.Inbox[0]) != "two" {
		s.Errorf("the inbox is %q", again.Inbox)
	}
}

func releaseReady(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release, c.Ready = true, true
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.claim(i)
}

// asked: the requests of commits are counted for the originating run, in any partition, once for each commit. A commit that exceeds the limit is
// refused completely.
func asked(s *suite) {
	p := s.Layout().Partitions
	i, root := s.start("a"), instance("root")
	for n := 0; p > 1 && root.Partition(p) == i.Partition(p); n++ {
		root = instance(fmt.Sprintf("root%d", n))
	}
	a := &asking{suite: s, commit: commit(s.claim(i)), of: root}
	a.ask(2, 0, "")
	a.ask(4, 2, store.TooMany)
	a.ask(3, 0, "")
	a.ask(1, 5, store.TooMany)
	a.ask(0, 0, "")
	a.of = i // it is counted separately
	at := a.commit.At
	a.commit.At = at.Add(time.Hour)
	a.ask(4, 0, store.TooEarly)
	a.commit.At = at
	a.ask(4, 0, "") // refused requests count once
	a.ask(1, 0, "")
	a.ask(1, 5, store.TooMany)
	if l := s.load(i).Lifecycle; l.Version != a.commit.Version {
		s.Errorf("the version is %d, want %d", l.Version, a.commit.Version)
	}
	if out := s.poll(i).Outbox; len(out) != 5 {
		s.Errorf("the outbox has %d entries", len(out))
	}
	a.askOtherwise()
}

// asking is a run whose commits contain requests, for another run.
type asking struct {
	*suite
	commit store.Commit
	of     store.Instance
}

// ask commits n requests, twice. before is the number of earlier requests, if the commit exceeds the limit.
func (a *asking) ask(n int, before int64, code store.Code) {
	a.Helper()
	c := &a.commit
	c.Asked, c.Outbox = store.Asked{Of: a.of, Kind: store.AskedRuns, N: n, Max: 5}, [][]byte{[]byte("out")}
	done, err := a.Store.Commit(a.ctx(), *c)
	if code != "" {
		if a.refused(err, code); done.Asked != before && code == store.TooMany {
			a.Errorf("before were asked for %d, want %d", done.Asked, before)
		}
		c.Next++
		return
	}
	a.must(err)
	_, err = a.Store.Commit(a.ctx(), *c) // the same commit
	a.must(err)
	c.Version, c.Next = c.Next, c.Next+1
}

// askOtherwise: each kind is counted separately, and so is each day.
func (a *asking) askOtherwise() {
	a.Helper()
	c := a.commit
	c.Asked = store.Asked{Of: c.Instance, Kind: store.AskedByEvents, N: 5, Max: 5}
	_, err := a.Store.Commit(a.ctx(), c)
	a.must(err)
	a.Advance(24 * time.Hour)
	c.Version, c.Next, c.Asked.Kind = c.Next, c.Next+1, store.AskedRuns
	_, err = a.Store.Commit(a.ctx(), c)
	a.must(err)
}
