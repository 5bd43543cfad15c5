package boltstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/runtime/store"
)

// TestClosed: a closed store reports that it is closed, and may be closed again.
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

// TestCloseWhileWriting: a write during the close of the store succeeds, or reports that the store is closed.
func TestCloseWhileWriting(t *testing.T) {
	ctx := context.Background()
	for range 20 {
		path := filepath.Join(t.TempDir(), "runs.db")
		s, err := boltstore.Open(ctx, path, boltstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		started := make(chan string, 1000)
		var writers sync.WaitGroup
		for n := range 8 {
			writers.Go(func() {
				for m := 0; ; m++ {
					id := fmt.Sprintf("%d-%d", n, m)
					_, err := s.Start(ctx, store.Start{Instance: store.Instance{Namespace: "a", ID: id}})
					var closed *boltstore.ClosedError
					if errors.As(err, &closed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					select {
					case started <- id:
					default:
					}
				}
			})
		}
		first := <-started
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		writers.Wait()
		again, err := boltstore.Open(ctx, path, boltstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for id := first; ; id = <-started {
			if _, err := again.Load(ctx, store.Instance{Namespace: "a", ID: id}); err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			if len(started) == 0 {
				break
			}
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
