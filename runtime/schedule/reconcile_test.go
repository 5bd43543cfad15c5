package schedule

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/store"
)

// entriesRead is a store that counts how often a single entry of the registry is read.
type entriesRead struct {
	loads
	entries int
}

func (e *entriesRead) Registered(ctx context.Context, kind store.RegistryKind, key string) (store.Registered, error) {
	e.entries++
	return e.loads.Registered(ctx, kind, key)
}

// TestManySchedulesAreComparedByTheirList: a process that compares many schedules with the deployments reads no entry and no definition of a
// schedule that follows its deployment already.
func TestManySchedulesAreComparedByTheirList(t *testing.T) {
	const n = 50
	e := &entriesRead{loads: loads{Store: memstore.New(memstore.Config{Partitions: 1, Now: time.Now})}}
	fresh := func() *Schedules {
		e.count, e.entries = 0, 0
		return New(Config{Store: e, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Compile: compile})
	}
	for n := range n {
		deployed(t, e.Store, fmt.Sprint("w", n), "every: PT1H")
	}
	if err := fresh().reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := load(t.Context(), e.Store, "demo", "w7"); err != nil {
		t.Fatal(err)
	}
	if e.count < 2*n || e.entries < n {
		t.Errorf("the schedules were made with %d definitions and %d entries", e.count, e.entries)
	}
	if err := fresh().reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e.count != 0 || e.entries != 0 {
		t.Errorf("%d definitions and %d entries were read", e.count, e.entries)
	}
}
