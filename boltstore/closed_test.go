package boltstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/runtime/store"
)

// TestClosed: a store that is closed says so, and may be closed again.
func TestClosed(t *testing.T) {
	ctx := context.Background()
	s, err := boltstore.Open(ctx, filepath.Join(t.TempDir(), "runs.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, started := s.Start(ctx, store.Start{Instance: store.Instance{Namespace: "a", ID: "a"}})
	_, loaded := s.Load(ctx, store.Instance{Namespace: "a", ID: "a"})
	_, polled := s.Poll(ctx, 0, 1, false)
	for name, err := range map[string]error{"start": started, "load": loaded, "poll": polled} {
		var closed *boltstore.ClosedError
		if !errors.As(err, &closed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
