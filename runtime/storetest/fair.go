package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// offeredFairly: however many runs of a namespace are ready, those of others are found soon, whether they have come before, meanwhile or after
// them, and stand among the first (reliability of many tenants).
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

// offersSoon expects that polls find runs of every namespace among the first.
func (s *suite) offersSoon(partition int, ready func(store.Work) []store.Instance) {
	s.Helper()
	var missing []string
	for range 40 { // looks for those that stand behind
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
