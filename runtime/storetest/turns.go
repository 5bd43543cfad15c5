package storetest

import (
	"slices"
	"testing"

	"github.com/swrun/swrun/runtime/store"
)

// turns is how often a worker reads activities until it has read several hundred, also if each read returns only some of them.
const turns = 20

// TurnsUp reports whether an activity is among the activities that a worker reads in 20 turns, if the worker changes all activities that it reads.
func TurnsUp(t *testing.T, s store.Store, x store.ActivityID, op store.ActivityOperation, read func() ([]store.ActivityID, error)) bool {
	t.Helper()
	for range turns {
		all, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(all, x) {
			return true
		}
		if _, err := s.ChangeActivities(t.Context(), store.ChangeActivities{Activities: all, Operation: op}); err != nil {
			t.Fatal(err)
		}
	}
	return false
}

// RunTurnsUp reports whether a run is among the due or expired runs that a worker reads in 20 turns, if the worker promotes or removes the
// runs that it reads.
func RunTurnsUp(t *testing.T, s store.Store, x store.Instance) bool {
	t.Helper()
	for range turns {
		w, err := s.Poll(t.Context(), 0, 100, true)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(w.Due, x) || slices.Contains(w.Expired, x) {
			return true
		}
		if _, err := s.Promote(t.Context(), store.Promote{Instances: w.Due}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Remove(t.Context(), store.Remove{Instances: w.Expired}); err != nil {
			t.Fatal(err)
		}
	}
	return false
}
