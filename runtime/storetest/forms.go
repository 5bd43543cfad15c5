package storetest

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// newerForms: a run with a part in a form that only newer builds know is not claimed, and stays in its place. It is reported and counted
// until it is removed.
func newerForms(s *suite) {
	begins := store.Instance{Namespace: "test", ID: "newer"}
	_, err := s.Start(s.ctx(), store.Start{Instance: begins, Invocation: []byte(`{"#":99,"w":1}`)})
	s.must(err)
	s.leftAlone(begins, 1)
	waits := s.start("waits")
	c := commit(s.claim(waits))
	c.Release, c.Wake = true, c.At.Add(time.Hour)
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: waits, ID: "m", Message: store.Message(`{"#":99}`)}))
	s.leftAlone(waits, 2)
}

// leftAlone tries to claim a run that this build cannot read, and compares all runs with the indexes.
func (s *suite) leftAlone(i store.Instance, counted int64) {
	s.Helper()
	before := s.load(i).Lifecycle
	var told []store.Unreadable
	for range 2 {
		claimed, err := s.Claim(s.ctx(), store.Claim{
			Partition: s.partition(i), Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: lease,
			Unreadable: func(u store.Unreadable) { told = append(told, u) },
		})
		s.must(err)
		if len(claimed) > 0 {
			s.Fatalf("%s was claimed", i)
		}
	}
	if len(told) < 2 || told[0].Instance != i || store.RefusedAs(told[0].Err) != store.Newer {
		s.Errorf("reported %v", told)
	}
	for p := range s.Layout().Partitions {
		done, err := s.Scrub(s.ctx(), store.Scrub{Partition: p, N: 1000})
		s.must(err)
		if len(done.Repaired) > 0 {
			s.Errorf("repaired %v", done.Repaired)
		}
	}
	if after := s.load(i).Lifecycle; after.String() != before.String() || !contains(ready(s.poll(i)), i) {
		s.Errorf("%s was %s and is %s", i, before.String(), after.String())
	}
	if n := s.total().Unreadable; n != counted {
		s.Errorf("%d runs are counted, want %d", n, counted)
	}
}

// newerHidesNone: runs that a newer build has written hide no other run from a worker, in any number.
func newerHidesNone(s *suite) {
	const many = 250
	last := instance("x")
	partition := s.partition(last)
	start := func(i store.Instance, urgent bool, invocation string) {
		_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(invocation), Urgent: urgent})
		s.must(err)
	}
	for k, n := 0, 0; n < many; k++ {
		if i := instance(fmt.Sprint("r", k)); s.partition(i) == partition {
			start(i, n%2 == 0, `{"#":99,"w":1}`)
			n++
		}
	}
	for k, n := 0, 0; n < 20; k++ { // runs of many namespaces are offered in turn
		if i := (store.Instance{Namespace: fmt.Sprint("n", k), ID: "r"}); s.partition(i) == partition {
			start(i, false, `{}`)
			n++
		}
	}
	start(last, false, `{}`)
	urgent := instance("urgent")
	for k := 0; s.partition(urgent) != partition; k++ {
		urgent = instance(fmt.Sprint("urgent", k))
	}
	start(urgent, true, `{}`)
	s.claimsInTurns(partition, last, urgent)
}

// claimsInTurns expects that a worker claims runs in 20 turns, if it claims all runs that a poll offers.
func (s *suite) claimsInTurns(partition int, runs ...store.Instance) {
	s.Helper()
	claimed := map[store.Instance]bool{}
	for range turns {
		w, err := s.Poll(s.ctx(), partition, 50, false)
		s.must(err)
		if len(w.New) > 50 || len(w.Begun) > 50 {
			s.Fatalf("%d new runs and %d begun ones are offered", len(w.New), len(w.Begun))
		}
		got, err := s.Claim(s.ctx(), store.Claim{Partition: partition, Instances: ready(w), Worker: "w", Nonce: s.nonce(), Lease: lease})
		s.must(err)
		for _, c := range got {
			claimed[c.Instance] = true
		}
	}
	for _, i := range runs {
		if !claimed[i] {
			s.Errorf("%s is hidden", i)
		}
	}
}
