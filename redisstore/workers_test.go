package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestWorkersAreCounted on one server and on several: those of all runs, and those of the runs that are asked about.
func TestWorkersAreCounted(t *testing.T) {
	for name, at := range map[string]func(testing.TB) string{
		"a server":  func(t testing.TB) string { return redistest.Start(t).URL() },
		"a cluster": func(t testing.TB) string { return redistest.Cluster(t, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := redisstore.Open(t.Context(), at(t), redisstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			one, other := store.Instance{Namespace: "demo", ID: "one"}, store.Instance{Namespace: "demo", ID: "other"}
			counts := func(want int64, runs ...store.Instance) {
				t.Helper()
				waiting, stop := context.WithTimeout(t.Context(), 20*time.Second)
				defer stop()
				for {
					n, err := s.Workers(waiting, runs...)
					if err != nil {
						t.Fatalf("%d workers of %v, not %d: %v", n, runs, want, err)
					}
					if n == want {
						return
					}
				}
			}
			counts(0)
			leaveNone := s.Attend(t.Context(), false, nil)
			leaveOne := s.Attend(t.Context(), false, []store.Instance{one})
			counts(1, one)
			counts(0, other)
			counts(0)
			leaveAll := s.Attend(t.Context(), true, nil)
			counts(1)
			counts(2, one)
			counts(1, other)
			leaveOne()
			counts(1, one)
			leaveAll()
			leaveNone()
			counts(0, one, other)
		})
	}
}
