package boltstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/runtime/store"
)

// within works on the keys of a store's file.
func within(t *testing.T, path string, f func(*bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // the written data is present
	if err := db.Update(func(tx *bbolt.Tx) error { return f(tx.Bucket([]byte("swrun"))) }); err != nil {
		t.Fatal(err)
	}
}

// ended stores a run that ended.
func ended(t *testing.T, s *boltstore.Store, id string) store.Instance {
	t.Helper()
	i := store.Instance{Namespace: "test", ID: id}
	if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: "completed", Reason: "completed"}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestCorruptRecord: a record that cannot be read does not keep others from being claimed, and is reported.
func TestCorruptRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, boltstore.Config{Partitions: 1})
	all := []store.Instance{ended(t, s, "a"), ended(t, s, "b"), ended(t, s, "c")}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	within(t, path, func(b *bbolt.Bucket) error {
		return errors.Join(b.Put([]byte("p/0000/i/test/b/record"), []byte("nonsense")), b.Put([]byte("p/0000/quarantined/test/a"), nil))
	})
	s = mustOpen(t, path, boltstore.Config{Partitions: 1})
	listed := 0
	for cursor := ""; ; {
		page, err := s.List(t.Context(), 0, cursor, 1)
		if err != nil {
			t.Fatal(err)
		}
		listed += len(page.Items)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if listed != 2 {
		t.Errorf("listed %d", listed)
	}
	if _, err := s.Load(t.Context(), all[1]); store.RefusedAs(err) != store.Corrupt {
		t.Errorf("loading it: %v", err)
	}
	if done, err := s.Scrub(t.Context(), store.Scrub{N: 10}); err != nil || len(done.Repaired) != 1 || len(done.Unreadable) != 1 {
		t.Errorf("Scrub reports %+v, %v", done, err)
	}
	if st, err := s.Statistics(t.Context(), 0); err != nil || st.Quarantined != 0 || st.Unreadable != 1 {
		t.Errorf("after Scrub, counted %+v, %v", st, err)
	}
	if n, err := s.Remove(t.Context(), store.Remove{Instances: all}); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}

// TestOperationsAreForgotten: operations older than a day make room for new ones.
func TestOperationsAreForgotten(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, boltstore.Config{Partitions: 1, Now: func() time.Time { return at }})
	i := store.Instance{Namespace: "test", ID: "a"}
	if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	for day := range 3 {
		for n := range 10 {
			if err := s.Deliver(t.Context(), store.Delivery{To: i, ID: fmt.Sprint(day, "-", n), Message: []byte("m")}); err != nil {
				t.Fatal(err)
			}
		}
		at = at.Add(25 * time.Hour)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept := 0
	within(t, path, func(b *bbolt.Bucket) error {
		return b.ForEach(func(key, _ []byte) error {
			if strings.HasPrefix(string(key), "p/0000/seen") {
				kept++
			}
			return nil
		})
	})
	if kept != 2*10 { // and when it was
		t.Errorf("%d keys are kept for 10 operations of the last day", kept)
	}
}
