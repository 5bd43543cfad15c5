package boltstore_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/storetest"
)

// manyBroken is more than the first entries of a list that a worker reads.
const manyBroken = 250

// multiply copies all entries of the run x to the runs a0, a1 and so on, whose activities precede its own, and overwrites a part of each.
func multiply(t *testing.T, path, part, by string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b, all := tx.Bucket([]byte("swrun")), map[string][]byte{}
		err := b.ForEach(func(key, value []byte) error {
			if bytes.Contains(key, []byte("/x")) {
				all[string(key)] = bytes.Clone(value)
			}
			return nil
		})
		for key, value := range all {
			for n := range manyBroken {
				to, data := strings.Replace(key, "/x", fmt.Sprintf("/a%d", n), 1), value
				if strings.Contains(key, "/x/"+part) {
					data = []byte(by)
				}
				if err == nil {
					err = b.Put([]byte(to), data)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBrokenEntriesHideNoActivity (I4): activities whose data cannot be read hide neither a due activity nor an available one behind them.
func TestBrokenEntriesHideNoActivity(t *testing.T) {
	for name, harm := range map[string][2]string{
		"damaged run":      {"record", "rubbish"},
		"newer run":        {"record", "99 waiting - x"},
		"damaged activity": {"activity/", "rubbish"},
		"newer activity":   {"activity/", "99 x"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			withActivity(t, path, false)
			multiply(t, path, harm[0], harm[1])
			now := time.Now()
			s, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 1, Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			x := store.ActivityID{Run: store.Instance{Namespace: "test", ID: "x"}, Effect: 4}
			if !storetest.TurnsUp(t, s, x, activity.Take{Nonce: "n", Worker: "w"}, func() ([]store.ActivityID, error) {
				offered, err := s.Available(t.Context(), store.Available{Queues: []string{"mail"}, N: 20})
				return offered.Activities, err
			}) {
				t.Error("the available activity is hidden")
			}
			now = now.Add(2 * time.Hour)
			if !storetest.TurnsUp(t, s, x, activity.Expire{}, func() ([]store.ActivityID, error) {
				w, err := s.Poll(t.Context(), 0, 100, true)
				return w.Activities, err
			}) {
				t.Error("the due activity is hidden")
			}
		})
	}
}

// TestNewerRunsHideNoRun: runs whose records a newer swrun has written hide neither a due run nor an expired one behind them.
func TestNewerRunsHideNoRun(t *testing.T) {
	for name, status := range map[string]interpreter.Status{"due": interpreter.StatusWaiting, "expired": interpreter.StatusCompleted} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s := mustOpenStore(t, path)
			x := store.Instance{Namespace: "test", ID: "x"}
			if _, err := s.Start(t.Context(), store.Start{Instance: x, Invocation: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{x}, Worker: "w", Nonce: "n", Lease: time.Hour})
			if err != nil || len(claimed) != 1 {
				t.Fatal(claimed, err)
			}
			c := store.Commit{Instance: x, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: status, Release: true}
			if !status.Final() {
				c.Wake = c.At.Add(time.Millisecond)
			}
			if _, err := s.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			multiply(t, path, "record", "99 waiting - x")
			s, err = boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 1, Now: func() time.Time { return time.Now().Add(time.Hour) }})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if !storetest.RunTurnsUp(t, s, x) {
				t.Error("the run is hidden")
			}
		})
	}
}
