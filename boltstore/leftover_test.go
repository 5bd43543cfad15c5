package boltstore_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// withListener makes a file with a run that listens for a type.
func withListener(t *testing.T, path string) {
	t.Helper()
	s := mustOpenStore(t, path)
	defer s.Close()
	i := store.Instance{Namespace: "test", ID: "x"}
	if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusWaiting, Release: true}
	c.Listens = store.NewListens("", []interpreter.EventFilter{{Type: "paid"}})
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// leave adds an entry to the listener index of a file, beside the entry of the run.
func leave(t *testing.T, path, entry string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b, key := tx.Bucket([]byte("swrun")), ""
		err := b.ForEach(func(k, _ []byte) error {
			if strings.Contains(string(k), "paid ") {
				key = string(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return b.Put([]byte(strings.Replace(key, "paid   test/x", entry, 1)), []byte{})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestListenersAreRepaired (I4, I5): scrubbing restores a lost entry of the listener index, and removes an entry without a matching record,
// in pages of any size.
func TestListenersAreRepaired(t *testing.T) {
	for entry, want := range map[string]string{
		"paid   test/x":    "test/x: was missing in the listener index",
		"a   test/x":       "test/x: was in the listener index for events that it does not listen for",
		"sold   test/x":    "test/x: was in the listener index for events that it does not listen for",
		"paid   test/gone": "test/gone: was in the listener index for events that it does not listen for",
		"paid":             `"paid" was in the listener index, but belongs to no run`,
	} {
		for _, n := range []int{1, 2, 10} {
			path := filepath.Join(t.TempDir(), "store.db")
			withListener(t, path)
			if entry == "paid   test/x" {
				harm(t, path, entry, nil)
			} else {
				leave(t, path, entry)
			}
			s := mustOpenStore(t, path)
			defer s.Close()
			for turn, expected := range [][]string{{want}, {want}, nil} {
				var got []string
				for request := (store.Scrub{N: n, Check: turn == 0}); ; {
					done, err := s.Scrub(t.Context(), request)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, done.Repaired...)
					if request.Cursor = done.Cursor; request.Cursor == "" {
						break
					}
				}
				if !slices.Equal(got, expected) {
					t.Errorf("%q, %d at a time: scrub %d found %q, want %q", entry, n, turn+1, got, expected)
				}
			}
			found, err := s.Listeners(t.Context(), store.Listening{Partitions: []int{0}, Types: []store.ListenType{{Type: "paid"}, {Type: "sold"}, {Type: "a"}}, Filters: []store.ListenFilter{{EventFilter: interpreter.EventFilter{Type: "paid"}}}, N: 10})
			if err != nil || len(found.From) != 1 || len(found.Runs) != 1 || len(found.Runs[0].Runs) != 1 {
				t.Errorf("%q, %d at a time: %+v listen, %v", entry, n, found, err)
			}
		}
	}
}
