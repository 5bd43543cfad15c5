package storetest

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// commandInTime: a change of a deadline is accepted until just before the deadline, and not at it.
func commandInTime(s *suite) {
	i := s.start("a")
	s.claim(i)
	move := store.Command{To: i, ID: "c1", Verb: store.VerbDeadline, Message: store.Message("m"), Before: s.poll(i).At.Add(time.Second)}
	s.must(s.Store.Command(s.ctx(), move))
	s.Advance(time.Second)
	s.must(s.Store.Command(s.ctx(), move)) // the first answer is repeated
	move.ID = "c2"
	s.refused(s.Store.Command(s.ctx(), move), store.TimedOut)
	if inbox, err := s.Store.Inbox(s.ctx(), i, 10); err != nil || len(inbox) != 1 {
		s.Errorf("the inbox is %q, error %v", inbox, err)
	}
}

// commitTimesOut: steps that ended a scope are stored only by an owner that knows all messages.
func commitTimesOut(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.TimesOut = true
	for range 2 { // once in each possible form of a store
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
		c.Version, c.Next = c.Version+1, c.Next+1
	}
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbDeadline, Message: store.Message("m")}))
	_, err := s.Commit(s.ctx(), c)
	s.refused(err, store.Conflict)
	c.Read = 1
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
}

// commitLast: an owner can request that its last commit is refused while there are messages that it does not know.
func commitLast(s *suite) {
	for _, last := range []bool{true, false} {
		i := s.start(fmt.Sprint("last-", last))
		c := commit(s.claim(i))
		for range 2 { // once in each possible form of a store
			_, err := s.Commit(s.ctx(), c)
			s.must(err)
			c.Version, c.Next = c.Version+1, c.Next+1
		}
		s.must(s.Deliver(s.ctx(), store.Delivery{To: i, ID: "m" + i.ID, Message: store.Message("m")}))
		c.Last, c.Status = last, interpreter.StatusCompleted
		_, err := s.Commit(s.ctx(), c)
		if last {
			s.refused(err, store.Conflict)
			c.Read = 1
			_, err = s.Commit(s.ctx(), c)
		}
		s.must(err)
	}
}
