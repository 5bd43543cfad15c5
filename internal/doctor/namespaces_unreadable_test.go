package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// damaged is a store in which one run cannot be read.
type damaged struct {
	store.Store
	run store.Instance
}

func (d damaged) List(ctx context.Context, partition int, cursor string, n int) (store.Page, error) {
	page, err := d.Store.List(ctx, partition, cursor, n)
	page.Items = slices.DeleteFunc(page.Items, func(one store.Listed) bool {
		is := one.Instance == d.run
		if is {
			page.Unreadable = append(page.Unreadable, store.Unreadable{Instance: d.run, Err: errors.New("its record is cut")})
		}
		return is
	})
	return page, err
}

// TestOthersHideNoUnreadableRun: a caller of a namespace sees its run that cannot be read, although 1001 runs of another namespace in the partition
// are newer. The caller of the other namespace does not see it.
func TestOthersHideNoUnreadableRun(t *testing.T) {
	now := time.Now()
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // there is nothing left to write
	start := func(i store.Instance) {
		if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte(`{"#":3}`)}); err != nil {
			t.Fatal(err)
		}
	}
	ours, partitions := store.Instance{Namespace: "ours", ID: "run"}, s.Layout().Partitions
	start(ours)
	now = now.Add(time.Hour)
	for n, others := 0, 0; others < 1001; n++ {
		if i := (store.Instance{Namespace: "theirs", ID: fmt.Sprint("run-", n)}); i.Partition(partitions) == ours.Partition(partitions) {
			start(i)
			others++
		}
	}
	s.Store = damaged{s.Store, ours}
	for namespace, want := range map[string]string{"ours": "1 run and 0 registered things cannot be read, for example: its record is cut", "theirs": "all examined data can be read"} {
		found := doctor.Examine(definition.WithGranted(t.Context(), definition.Granted{namespace}), s, func() time.Time { return now }, "it is tested")
		n := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Code == "SD019" })
		if n < 0 || !strings.HasPrefix(found[n].What, want) {
			t.Errorf("a caller for %s is told %+v, want %q", namespace, found, want)
		}
	}
}
