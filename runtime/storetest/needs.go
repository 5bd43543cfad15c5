package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// needy starts a run and gives it back so that it has a need, and wakes up after a while.
func (s *suite) needy(id string, wake time.Duration, needs ...store.Need) store.Instance {
	s.Helper()
	i := s.start(id)
	c := commit(s.claim(i))
	c.Release, c.Needs, c.Wake = true, store.NewNeeds(needs), c.At.Add(wake)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	return i
}

// waitsFor starts a run of any namespace, and gives it back so that it has a need.
func (s *suite) waitsFor(i store.Instance, need store.Need) {
	s.Helper()
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(`{}`)})
	s.must(err)
	c := commit(s.claim(i))
	c.Release, c.Needs = true, store.NewNeeds([]store.Need{need})
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
}

// needing returns the runs that wait for a need.
func (s *suite) needing(partition int, n store.Need) (ids []string) {
	s.Helper()
	all, err := s.Needing(s.ctx(), store.Needing{Partition: partition, Need: n, N: 100})
	s.must(err)
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

// take claims a run for a worker that meets some needs.
func (s *suite) take(i store.Instance, has ...store.Need) []store.Claimed {
	s.Helper()
	claimed, err := s.Claim(s.ctx(), store.Claim{
		Partition: s.partition(i), Instances: []store.Instance{i}, Worker: worker, Nonce: s.nonce(), Lease: lease, Has: has,
	})
	s.must(err)
	return claimed
}

// needs: a run with a need is claimed by workers that meet it, and by no other worker before its time.
func needs(s *suite) {
	gpu, either := store.NewNeed("queue:gpu"), store.NewNeed("queue:a b", "processes")
	i := s.needy("a", time.Hour, gpu, either, "")
	s.needy("b", time.Hour)
	w := s.poll(i)
	if !slices.Equal(w.Needs, []store.Need{either, gpu}) || len(ready(w)) > 0 || len(w.Due) > 0 {
		s.Errorf("the work is %+v", w)
	}
	if got := either.Parts(); !slices.Equal(got, []string{"processes", "queue:a b"}) {
		s.Errorf("the parts of the need are %q", got)
	}
	for _, n := range []store.Need{gpu, either} {
		if got := s.needing(s.partition(i), n); !slices.Equal(got, []string{"a"}) {
			s.Errorf("%s is needed by %v", n, got)
		}
	}
	if got := s.needing(s.partition(i), store.NewNeed("queue:gp")); got != nil {
		s.Errorf("another need is the need of %v", got)
	}
	if l := s.load(i).Lifecycle; l.Needs != store.NewNeeds([]store.Need{gpu, either}) || l.NeededSince.IsZero() {
		s.Errorf("it is stored as %+v", l)
	}
	if got := s.take(i); len(got) > 0 {
		s.Error("it was taken by a worker that meets no need")
	}
	if got := s.take(i, store.NewNeed("queue:other")); len(got) > 0 {
		s.Error("it was taken by a worker that meets another need")
	}
	s.takeNeedy(i, gpu, either)
}

// takeNeedy claims a run for one of its needs, and ends it: then it has no need.
func (s *suite) takeNeedy(i store.Instance, has, other store.Need) {
	s.Helper()
	claimed := s.take(i, store.NewNeed("queue:other"), has)
	if len(claimed) != 1 || claimed[0].Lifecycle.Needs != "" {
		s.Fatalf("claimed %+v", claimed)
	}
	for _, n := range []store.Need{has, other} {
		if got := s.needing(s.partition(i), n); got != nil {
			s.Errorf("while it is held, %s is needed by %v", n, got)
		}
	}
	if _, err := s.Commit(s.ctx(), closing(claimed[0])); err != nil {
		s.Error(err)
	}
	if w := s.poll(i); len(w.Needs) > 0 {
		s.Errorf("in the end, the needs are %v", w.Needs)
	}
}

// needsInTime: any worker claims a run with a need when its time comes, or when it gets a message. The run may then need the same again.
func needsInTime(s *suite) {
	n := store.NewNeed("processes")
	i := s.needy("a", time.Minute, n)
	s.Advance(time.Minute)
	if s.promote(i).Ready != 1 || len(s.needing(s.partition(i), n)) > 0 {
		s.Fatal("it is due, and not ready")
	}
	c := commit(s.claim(i))
	c.Release, c.Needs = true, store.NewNeeds([]store.Need{n})
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	if got := s.needing(s.partition(i), n); !slices.Equal(got, []string{"a"}) {
		s.Errorf("it is needed by %v again", got)
	}
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbCancel}))
	if got := s.needing(s.partition(i), n); got != nil {
		s.Errorf("with a message, it is needed by %v", got)
	}
	done := closing(s.claim(i))
	done.Status, done.Reason, done.Read = interpreter.StatusCancelled, "cancelled", 1
	_, err = s.Commit(s.ctx(), done)
	s.must(err)
}

// needsInOrder: the longest waiting run comes first, up to the requested number, and scrubbing finds nothing wrong.
func needsInOrder(s *suite) {
	n := store.NewNeed("queue:q")
	partition, want := -1, []string{}
	for k := 0; len(want) < 3; k++ {
		id := fmt.Sprint("z", 99-k)
		if partition < 0 {
			partition = s.partition(instance(id))
		}
		if s.partition(instance(id)) != partition {
			continue
		}
		s.needy(id, time.Hour, n)
		want = append(want, id)
		s.Advance(time.Second)
	}
	if got := s.needing(partition, n); !slices.Equal(got, want) {
		s.Errorf("in order they are %v, want %v", got, want)
	}
	some, err := s.Needing(s.ctx(), store.Needing{Partition: partition, Need: n, N: 2})
	if err != nil || len(some) != 2 {
		s.Errorf("two of them are %v, %v", some, err)
	}
	done, err := s.Scrub(s.ctx(), store.Scrub{Partition: partition, N: 100})
	if err != nil || len(done.Repaired) > 0 {
		s.Errorf("repaired %q, %v", done.Repaired, err)
	}
}
