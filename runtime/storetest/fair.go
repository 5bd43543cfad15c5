package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// offeredFairly: with any number of ready runs in one namespace, runs of other namespaces are found soon, whether they became ready before, during or
// after them, and are among the first (reliability of many tenants).
func offeredFairly(s *suite) {
	const many, few = 700, 3
	partition := s.partition(instance("x"))
	start := func(namespace string, n int) {
		for k := 0; n > 0; k++ {
			i := store.Instance{Namespace: namespace, ID: fmt.Sprint("r", k)}
			if s.partition(i) != partition {
				continue
			}
			n--
			_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(`{}`), Urgent: n%2 == 0})
			s.must(err)
		}
	}
	start("a-many", many/2)
	start("quiet", few)
	start("b-many", many/2)
	start("z-late", few)
	s.offersSoon(partition, func(w store.Work) []store.Instance { return w.New })
	s.offersSoon(partition, func(w store.Work) []store.Instance { return w.Begun })
}

// neededFairly: with any number of runs of one namespace that wait for a need, runs of others are found soon, also by callers that ask for only one.
func neededFairly(s *suite) {
	const many = 400
	partition, gpu := s.partition(instance("x")), store.NewNeed("queue:gpu")
	wait := func(namespace string, n int) {
		for k := 0; n > 0; k++ {
			i := store.Instance{Namespace: namespace, ID: fmt.Sprint("r", k)}
			if s.partition(i) != partition {
				continue
			}
			n--
			s.waitsFor(i, gpu)
		}
	}
	wait("a-many", many)
	wait("quiet", 1)
	wait("z-many", many)
	wait("z-late", 1)
	for _, asked := range []int{1, 100} {
		found := map[string]bool{}
		for n := 0; n < 2000 && len(found) < 4; n++ { // a poll occasionally looks for runs after the first ones
			some, err := s.Needing(s.ctx(), store.Needing{Partition: partition, Need: gpu, N: asked, Turn: rand.Int()})
			s.must(err)
			if len(some) != asked {
				s.Fatalf("%d runs are found, want %d", len(some), asked)
			}
			for _, i := range some[:min(4, asked)] {
				found[i.Namespace] = true
			}
			if r := s.load(some[0].Instance).Lifecycle; !r.NeededSince.Equal(some[0].Since) {
				s.Fatalf("it waits since %s, want %s", some[0].Since, r.NeededSince)
			}
		}
		if len(found) < 4 {
			s.Errorf("a request for %d finds only runs of %v", asked, found)
		}
	}
}

// offersSoon expects that polls find runs of every namespace among the first.
func (s *suite) offersSoon(partition int, ready func(store.Work) []store.Instance) {
	s.Helper()
	var missing []string
	for range 40 { // a poll looks for runs after the first ones
		w, err := s.Poll(s.ctx(), partition, 100, false)
		s.must(err)
		first := ready(w)
		if len(first) != 100 {
			s.Fatalf("%d runs are offered", len(first))
		}
		missing = nil
		for _, namespace := range []string{"a-many", "quiet", "b-many", "z-late"} {
			if !slices.ContainsFunc(first[:8], func(i store.Instance) bool { return i.Namespace == namespace }) {
				missing = append(missing, namespace)
			}
		}
		if missing == nil {
			return
		}
		s.Advance(time.Second)
	}
	s.Errorf("of the namespaces %q no run is among the first", missing)
}
