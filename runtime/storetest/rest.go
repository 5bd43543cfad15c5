package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
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
	if w := s.poll(i); contains(w.Ready, i) {
		s.Error("taken from its owner")
	}
	held := []store.Held{{Instance: i, Token: c.Token}}
	renewed, err := s.Store.Renew(s.ctx(), store.Renew{Partition: s.partition(i), Held: held, Lease: lease})
	s.must(err)
	if len(renewed) != 1 || !renewed[0].Mail {
		s.Errorf("renewed %+v", renewed)
	}
	done, err := s.Commit(s.ctx(), commit(c))
	s.must(err)
	if !done.Mail {
		s.Error("the commit does not tell of the message")
	}
}

func deliverClosed(s *suite) {
	i := s.start("a")
	_, err := s.Commit(s.ctx(), closing(s.claim(i)))
	s.must(err)
	s.refused(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "one"}), store.Closed)
}

func inboxOrder(s *suite) {
	i := s.start("a")
	for n := range 12 {
		s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: fmt.Sprint(n), Message: store.Message(fmt.Sprint(n))}))
	}
	for n, m := range s.claim(i).Inbox {
		if string(m) != fmt.Sprint(n) {
			s.Errorf("message %d is %q", n, m)
		}
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
	s.must(s.Store.Command(s.ctx(), cancel)) // the first answer again
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

func history(s *suite) {
	i := s.start("a")
	claimed := s.claim(i)
	c := commit(claimed)
	for n := range 5 {
		c.Version, c.Next = int64(n), int64(n)+1
		c.Entries = [][]byte{fmt.Appendf(nil, `{"n":%d}`, 2*n), fmt.Appendf(nil, `{"n":%d}`, 2*n+1)}
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
	}
	entries, err := s.History(s.ctx(), i, 3, 4)
	s.must(err)
	if len(entries) != 4 {
		s.Fatalf("got %d entries", len(entries))
	}
	for n, e := range entries {
		if want := fmt.Sprintf(`{"n":%d}`, n+3); string(e.Data) != want || e.Token != claimed.Token || e.At.Before(claimed.At) {
			s.Errorf("entry %d is %+v: %s", n, e, e.Data)
		}
	}
	if more, err := s.History(s.ctx(), i, 10, 4); err != nil || len(more) > 0 {
		s.Errorf("behind the end there are %v, %v", more, err)
	}
}

func payload(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	large := bytes.Repeat([]byte("x"), 100_000)
	c.Payloads = map[string][]byte{"ref": large}
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	got, err := s.Payload(s.ctx(), i, "ref")
	s.must(err)
	if !bytes.Equal(got, large) {
		s.Errorf("got %d bytes", len(got))
	}
	_, err = s.Payload(s.ctx(), i, "other")
	s.refused(err, store.NoSuch)
}

// anyBytes is reliability.md R20: what a store keeps comes back as it was.
func anyBytes(s *suite) {
	data := []byte("{\"n\":9007199254740993,\"a\":[],\"o\":{},\"t\":\"\x00\xff\r\n 'é\"}")
	i := instance("a")
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: data})
	s.must(err)
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "m", Message: data}))
	claimed := s.claim(i)
	c := commit(claimed)
	c.Changes = interpreter.Changes{Head: data, Context: data, Frames: []interpreter.StoredFrame{{Key: 7, Data: data}}}
	c.Entries, c.Outbox, c.Payloads = [][]byte{data}, [][]byte{data}, map[string][]byte{"ref": data}
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	l := s.load(i)
	entries, err := s.History(s.ctx(), i, 0, 1)
	s.must(err)
	kept, err := s.Payload(s.ctx(), i, "ref")
	s.must(err)
	for n, got := range [][]byte{
		claimed.Invocation, claimed.Inbox[0], l.State.Head, l.State.Context, l.State.Frames[7], entries[0].Data, s.poll(i).Outbox[0].Data, kept,
	} {
		if !bytes.Equal(got, data) {
			s.Errorf("%d came back as %q", n, got)
		}
	}
}

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
			if item.Lifecycle.Status != interpreter.StatusPending || len(item.Invocation) == 0 || item.Lifecycle.CreatedAt().IsZero() {
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
		s.Errorf("removed %d instances that have not ended, %v", n, err)
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

func definitions(s *suite) {
	for range 2 {
		s.must(s.Define(s.ctx(), "b:1", []byte("one")))
	}
	s.must(s.Define(s.ctx(), "a:1", []byte("two")))
	s.refused(s.Define(s.ctx(), "a:1", []byte("three")), store.Conflict)
	got, err := s.Definition(s.ctx(), "a:1")
	if err != nil || string(got) != "two" {
		s.Errorf("got %q, %v", got, err)
	}
	_, err = s.Definition(s.ctx(), "c:1")
	s.refused(err, store.NoSuch)
	keys, err := s.Definitions(s.ctx())
	if err != nil || fmt.Sprint(keys) != "[a:1 b:1]" {
		s.Errorf("got %v, %v", keys, err)
	}
}

func unknown(s *suite) {
	_, err := s.Load(s.ctx(), instance("a"))
	s.refused(err, store.NoSuch)
	_, err = s.History(s.ctx(), instance("a"), 0, 1)
	s.refused(err, store.NoSuch)
	s.refused(s.Store.Deliver(s.ctx(), store.Delivery{To: instance("a"), ID: "m"}), store.NoSuch)
}

// badIDs is B12 of reliability.md.
func badIDs(s *suite) {
	for _, id := range []string{"", "{x}", "a}b{", "..", "a/../../b", "a\nb", "a b", string(bytes.Repeat([]byte("x"), 300)), "-a"} {
		if _, err := s.Store.Start(s.ctx(), store.Start{Instance: instance(id)}); err == nil {
			s.Errorf("the id %q was taken", id)
		}
	}
}

func hints(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx())
	hints := s.Hints(ctx)
	i := instance("a")
	deadline := time.After(10 * time.Second)
	for n := 0; ; n++ { // the first may come before the channel listens
		s.start(fmt.Sprint("h", n))
		select {
		case <-hints:
			cancel()
			for range hints { // it ends
			}
			return
		case <-deadline:
			s.Fatalf("no hint of %s", i)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// many starts, claims, commits and ends instances from several sides at once.
func many(s *suite) {
	const n = 60
	var group sync.WaitGroup
	for side := range 4 {
		group.Go(func() {
			for k := range n / 4 {
				s.live(fmt.Sprintf("m%d-%d", side, k))
			}
		})
	}
	group.Wait()
	var total store.Statistics
	for partition := range s.Layout().Partitions {
		st, err := s.Statistics(s.ctx(), partition)
		s.must(err)
		total.Ready += st.Ready
		total.Waiting += st.Waiting
		total.Closed += st.Closed
	}
	if total.Ready != 0 || total.Waiting != 0 || total.Closed != n {
		s.Errorf("the statistics are %+v", total)
	}
}

// live takes one instance from its start to its end.
func (s *suite) live(id string) {
	i := instance(id)
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i})
	if err != nil {
		s.Error(err)
		return
	}
	claimed, err := s.Claim(s.ctx(), store.Claim{
		Partition: s.partition(i), Instances: []store.Instance{i}, Nonce: "n" + id, Lease: lease,
	})
	if err != nil || len(claimed) != 1 {
		s.Errorf("claimed %d, %v", len(claimed), err)
		return
	}
	c := commit(claimed[0])
	c.Entries = [][]byte{[]byte("{}")}
	if _, err := s.Commit(s.ctx(), c); err != nil {
		s.Error(err)
	}
	done := closing(claimed[0])
	done.Version, done.Next = done.Version+1, done.Next+1
	if _, err := s.Commit(s.ctx(), done); err != nil {
		s.Error(err)
	}
}
