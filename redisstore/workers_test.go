package redisstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestAttendingWorkers on one server and on several: an attending worker is present until it leaves or its connection ends.
func TestAttendingWorkers(t *testing.T) {
	for name, at := range map[string]func(testing.TB) string{
		"a server":  func(t testing.TB) string { return redistest.Start(t).URL() },
		"a cluster": func(t testing.TB) string { return redistest.Cluster(t, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			url := at(t)
			s, far := mustOpen(t, url, redisstore.Config{}), mustOpen(t, url, redisstore.Config{})
			attends := func(want ...string) {
				t.Helper()
				waiting, stop := context.WithTimeout(t.Context(), 20*time.Second)
				defer stop()
				for {
					there, err := s.Attending(waiting, []string{"a", "b", "c"})
					if err != nil {
						t.Fatalf("there are %v, not %v: %v", there, want, err)
					}
					if slices.Equal(there, want) {
						return
					}
				}
			}
			attends()
			leaveA, leaveB := s.Attend(t.Context(), "a"), far.Attend(t.Context(), "b")
			attends("a", "b")
			again := s.Attend(t.Context(), "a")
			leaveA()
			attends("a", "b")
			again()
			attends("b")
			leaveB()
			attends()
			if there, err := s.Attending(t.Context(), nil); err != nil || there != nil {
				t.Errorf("of none, there are %v, %v", there, err)
			}
		})
	}
}
