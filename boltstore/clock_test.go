package boltstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/runtime/store"
)

// TestClockGoesBack: when the clock moves back, the time of the store continues, also for the next process, and follows the clock again
// when it caught up.
func TestClockGoesBack(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	path := filepath.Join(t.TempDir(), "store.db")
	open := func() *boltstore.Store {
		return mustOpen(t, path, boltstore.Config{Partitions: 1, Now: func() time.Time { return at }})
	}
	s, begun := open(), at
	tell := func(want time.Duration) {
		t.Helper()
		p, err := s.Promote(t.Context(), store.Promote{})
		if err != nil || p.At.Sub(begun) != want {
			t.Errorf("it is %s after the beginning, want %s (%v)", p.At.Sub(begun), want, err)
		}
		if w, err := s.Poll(t.Context(), 0, 1, false); err != nil || w.At.Sub(begun) != want {
			t.Errorf("it is %s after the beginning by reading, want %s (%v)", w.At.Sub(begun), want, err)
		}
	}
	tell(0)
	at = at.Add(-time.Hour)
	tell(0)
	at = at.Add(10 * time.Minute)
	tell(10 * time.Minute)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	at = at.Add(time.Minute)
	tell(11 * time.Minute)
	at = at.Add(time.Hour)
	tell(11 * time.Minute)
	at = at.Add(time.Minute)
	tell(12 * time.Minute)
	at = at.Add(-2 * time.Second) // the correction for the hour is dropped
	tell(12 * time.Minute)
	if st, err := s.Statistics(t.Context(), 0); err != nil || st.Jumps != 2 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}
