package storetest

import (
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
