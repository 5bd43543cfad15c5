package boltstore_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/storetest"
)

func mustOpen(t *testing.T, path string, c boltstore.Config) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(t.Context(), path, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // a test may have closed it
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		clock := &storetest.Clock{At: time.UnixMilli(1_700_000_000_000)}
		path := filepath.Join(t.TempDir(), "state", "store.db")
		return storetest.Opened{Store: mustOpen(t, path, boltstore.Config{Now: clock.Now}), Advance: clock.Advance}
	})
}

// TestFileOutlivesTheProcess: a process finds the data that an earlier process stored.
func TestFileOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	i := store.Instance{Namespace: "test", ID: "a"}
	first := mustOpen(t, path, boltstore.Config{})
	if _, err := first.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("info")}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := mustOpen(t, path, boltstore.Config{}).Load(t.Context(), i)
	if err != nil || string(l.Invocation) != "info" {
		t.Errorf("loaded %q, %v", l.Invocation, err)
	}
}

// TestSecondProcessIsTold who holds the file.
func TestSecondProcessIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	mustOpen(t, path, boltstore.Config{})
	_, err := boltstore.Open(t.Context(), path, boltstore.Config{Wait: time.Millisecond})
	var held *boltstore.HeldError
	if !errors.As(err, &held) || !strings.HasPrefix(held.By, "process ") {
		t.Errorf("got %v", err)
	}
}

// TestLayoutIsChecked: a file of another shape is refused.
func TestLayoutIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if err := mustOpen(t, path, boltstore.Config{Partitions: 2}).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 3}); err == nil {
		t.Error("a file with another number of partitions was opened")
	}
}
