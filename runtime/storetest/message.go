package storetest

import (
	"fmt"

	"github.com/swrun/swrun/runtime/store"
)

func deliverOnce(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Release = true
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	for range 3 {
		s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "one", Message: store.Message("hello")}))
	}
	claimed := s.claim(i)
	if len(claimed.Inbox) != 1 || string(claimed.Inbox[0]) != "hello" {
		s.Errorf("the inbox is %q", claimed.Inbox)
	}
}

func deliverHeld(s *suite) {
	i := s.start("a")
	c := s.claim(i)
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "one", Message: store.Message("hello")}))
	if w := s.poll(i); contains(ready(w), i) {
		s.Error("taken from its owner")
	}
	held, err := s.Store.HeldBy(s.ctx(), s.partition(i), worker)
	s.must(err)
	if len(held) != 1 || !held[0].Notice {
		s.Errorf("held are %+v", held)
	}
	done, err := s.Commit(s.ctx(), commit(c))
	s.must(err)
	if !done.Mail {
		s.Error("the commit does not report the message")
	}
}

func deliverClosed(s *suite) {
	i := s.start("a")
	_, err := s.Commit(s.ctx(), closing(s.claim(i)))
	s.must(err)
	s.refused(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "one"}), store.Closed)
}

func inboxFull(s *suite) {
	i := s.start("a")
	delivery := func(id string) store.Delivery {
		return store.Delivery{To: i, ID: id, Message: store.Message(id), Most: 3}
	}
	for _, id := range []string{"a", "b", "c", "b"} {
		s.must(s.Store.Deliver(s.ctx(), delivery(id)))
	}
	s.refused(s.Store.Deliver(s.ctx(), delivery("d")), store.Limit)
	s.must(s.Store.Deliver(s.ctx(), delivery("c"))) // it arrived before
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "e", Verb: store.VerbSuspend}))
	c := commit(s.claim(i))
	c.Read = 2
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.must(s.Store.Deliver(s.ctx(), delivery("d")))
	s.refused(s.Store.Deliver(s.ctx(), delivery("f")), store.Limit)
}

func inboxOrder(s *suite) {
	i := s.start("a")
	for n := range 12 {
		s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: fmt.Sprint(n), Message: store.Message(fmt.Sprint(n))}))
	}
	first, err := s.Store.Inbox(s.ctx(), i, 3)
	s.must(err)
	if got := fmt.Sprintf("%s", first); got != "[0 1 2]" {
		s.Errorf("the first three messages are %s", got)
	}
	claimed := s.claim(i)
	for n, m := range claimed.Inbox {
		if string(m) != fmt.Sprint(n) {
			s.Errorf("message %d is %q", n, m)
		}
	}
	c := commit(claimed)
	c.Read = 10
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	for n, want := range map[int]string{0: "[]", 1: "[10]", 100: "[10 11]"} {
		left, err := s.Store.Inbox(s.ctx(), i, n)
		s.must(err)
		if got := fmt.Sprintf("%s", left); got != want {
			s.Errorf("the first %d messages that are left are %s, not %s", n, got, want)
		}
	}
	if none, err := s.Store.Inbox(s.ctx(), instance("nobody"), 5); err != nil || len(none) != 0 {
		s.Errorf("the inbox of a run that is not there is %s, error %v", none, err)
	}
}

func command(s *suite) {
	i := s.start("a")
	cancel := store.Command{To: i, ID: "c1", Verb: store.VerbCancel, Message: store.Message("cancel")}
	s.must(s.Store.Command(s.ctx(), cancel))
	s.must(s.Store.Command(s.ctx(), cancel))
	if got := s.claim(i).Inbox; len(got) != 1 || string(got[0]) != "cancel" {
		s.Errorf("the inbox is %q", got)
	}
	s.refused(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c2", Verb: store.VerbRetry}), store.Conflict)
	s.refused(s.Store.Command(s.ctx(), store.Command{To: instance("x"), ID: "c3", Verb: store.VerbCancel}), store.NoSuch)
}

func commandClosed(s *suite) {
	i := s.start("a")
	cancel := store.Command{To: i, ID: "c1", Verb: store.VerbCancel, Message: store.Message("cancel")}
	s.must(s.Store.Command(s.ctx(), cancel))
	claimed := s.claim(i)
	_, err := s.Commit(s.ctx(), closing(claimed))
	s.must(err)
	s.must(s.Store.Command(s.ctx(), cancel)) // the first answer is repeated
	cancel.ID = "c2"
	s.refused(s.Store.Command(s.ctx(), cancel), store.Closed)
}

func outbox(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Outbox = [][]byte{[]byte("one"), []byte("two"), []byte("three")}
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	out := s.poll(i).Outbox
	if len(out) != 3 || string(out[0].Data) != "one" || string(out[2].Data) != "three" || out[0].ID == out[1].ID {
		s.Fatalf("the outbox is %q", out)
	}
	for range 2 {
		s.must(s.Relay(s.ctx(), s.partition(i), []string{out[0].ID, out[2].ID}))
	}
	if out := s.poll(i).Outbox; len(out) != 1 || string(out[0].Data) != "two" {
		s.Errorf("the outbox is %q", out)
	}
	c.Version, c.Next = c.Version+1, c.Next+1
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	after := ""
	var got string
	for range 5 { // page by page
		out, err := s.Store.Outbox(s.ctx(), s.partition(i), after, 2)
		s.must(err)
		for _, o := range out {
			got, after = got+string(o.Data)+" ", o.ID
		}
	}
	if got != "two one two three " {
		s.Errorf("the outbox is %q", got)
	}
}

func relayMany(s *suite) {
	entries := make([]string, 9000)
	for n := range entries {
		entries[n] = fmt.Sprintf("0:%d-1", n+1)
	}
	s.must(s.Relay(s.ctx(), 0, entries))
}
