package control

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/runtime/store"
)

// twoPages is a store whose list has two pages. The second one can be unavailable.
type twoPages struct {
	store.Store
	newest time.Time
	down   bool
}

func (s *twoPages) List(_ context.Context, _ int, cursor string, _ int) (store.Page, error) {
	created := func(id string, before time.Duration) []store.Listed {
		return []store.Listed{{Instance: store.Instance{Namespace: "test", ID: id}, Lifecycle: store.Lifecycle{Created: s.newest.Add(-before)}}}
	}
	switch {
	case cursor == "":
		return store.Page{Items: created("first", 0), Cursor: "second"}, nil
	case s.down:
		return store.Page{}, errors.New("out of reach")
	}
	return store.Page{Items: created("second", 15*time.Second)}, nil
}

// TestLookThatFails: a look that fails because the store is unavailable leaves its unread runs to the next look.
func TestLookThatFails(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	s := &twoPages{newest: now, down: true}
	r := newFleetReader(&fleet{store: &swrun.Store{Store: s}})
	r.mark = now.Add(-20 * time.Second)
	known := &fleetPartition{runs: map[store.Instance]*fleetRun{}, newest: r.mark, swept: r.mark}
	if err := r.lookAtNew(t.Context(), 0, 2, known, now); err == nil {
		t.Fatal("the look did not fail")
	}
	s.down = false
	if err := r.lookAtNew(t.Context(), 0, 3, known, now); err != nil {
		t.Fatal(err)
	}
	if known.runs[store.Instance{Namespace: "test", ID: "second"}] == nil {
		t.Error("the run on the second page is missed")
	}
}
