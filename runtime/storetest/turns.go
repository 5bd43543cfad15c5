package storetest

import (
	"slices"
	"testing"

	"github.com/swrun/swrun/runtime/store"
)

// TurnsUp reports whether an activity is among the activities that a worker reads in some turns, if the worker changes all activities that it reads.
func TurnsUp(t *testing.T, s store.Store, x store.ActivityID, turns int, op store.ActivityOperation, read func() ([]store.ActivityID, error)) bool {
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
