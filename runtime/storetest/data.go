package storetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

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
		s.Errorf("after the end there are %v, %v", more, err)
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

// anyBytes: a store returns data unchanged.
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
	for prefix, want := range map[string]string{"": "[a:1 b:1]", "a": "[a:1]", "a:": "[a:1]", "b:1": "[b:1]", "a:2": "[]", "b*": "[]"} {
		if keys, err := s.Definitions(s.ctx(), prefix); err != nil || fmt.Sprint(keys) != want {
			s.Errorf("%q: got %v, %v", prefix, keys, err)
		}
		by, err := s.DefinitionsBy(s.ctx(), prefix)
		if fmt.Sprint(slices.Sorted(maps.Keys(by))) != want || err != nil || by["b:1"] != nil && string(by["b:1"]) != "one" {
			s.Errorf("%q: got %q, %v", prefix, by, err)
		}
	}
	s.refused(s.Undefine(s.ctx(), "a:1", []byte("three")), store.Conflict)
	s.must(s.Undefine(s.ctx(), "a:1", []byte("two")))
	s.refused(s.Undefine(s.ctx(), "a:1", []byte("two")), store.NoSuch)
	if keys, err := s.Definitions(s.ctx(), ""); err != nil || fmt.Sprint(keys) != "[b:1]" {
		s.Errorf("got %v, %v", keys, err)
	}
	s.must(s.Define(s.ctx(), "a:1", []byte("three")))
}

func unknown(s *suite) {
	_, err := s.Load(s.ctx(), instance("a"))
	s.refused(err, store.NoSuch)
	_, err = s.History(s.ctx(), instance("a"), 0, 1)
	s.refused(err, store.NoSuch)
	s.refused(s.Store.Deliver(s.ctx(), store.Delivery{To: instance("a"), ID: "m"}), store.NoSuch)
}

// badIDs: an invalid ID is refused, and nothing is stored.
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
	for n := 0; ; n++ { // the first hint may come before the channel listens
		s.start(fmt.Sprint("h", n))
		select {
		case <-hints:
			cancel()
			for range hints { // the channel is closed at the end
			}
			return
		case <-deadline:
			s.Fatalf("no hint of %s", i)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// many starts, claims, commits and ends runs concurrently.
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
	total := s.total()
	if total.Ready != 0 || total.Waiting != 0 || total.Closed != n {
		s.Errorf("the statistics are %+v", total)
	}
}

// total returns the sum of the counts of all partitions.
func (s *suite) total() store.Statistics {
	s.Helper()
	total, err := store.Total(s.ctx(), s.Store)
	s.must(err)
	return total
}

// countedRuns: a store counts its runs by their places, and knows since when the longest waiting ready run is ready.
func countedRuns(s *suite) {
	if st := s.total(); st != (store.Statistics{}) {
		s.Errorf("an empty store counts %+v", st)
	}
	s.claim(s.start("held"))
	since := s.load(s.start("first")).Lifecycle.Ready
	s.Advance(time.Minute)
	s.start("second")
	want := store.Statistics{Ready: 2, Waiting: 1, Held: 1, Oldest: since}
	if st := s.total(); st != want || since.IsZero() {
		s.Errorf("it counts %+v, want %+v", st, want)
	}
}

// live takes one run from its start to its end.
func (s *suite) live(id string) {
	i := instance(id)
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i})
	if err != nil {
		s.Error(err)
		return
	}
	claimed, err := s.Claim(s.ctx(), store.Claim{
		Partition: s.partition(i), Instances: []store.Instance{i}, Worker: worker, Nonce: "n" + id, Lease: lease,
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
