package doctor_test

import (
	"context"
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

// TestOthersHideNothing: a caller for one namespace sees its own overdue run, even after many runs of another namespace.
func TestOthersHideNothing(t *testing.T) {
	const others = 201
	now := time.Now()
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // there is nothing left to write
	start := func(namespace string, n int, delay time.Duration) {
		i := store.Instance{Namespace: namespace, ID: fmt.Sprint("run-", n)}
		if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte(`{"#":3}`), Delay: delay}); err != nil {
			t.Fatal(err)
		}
	}
	level := func(namespace string) string {
		ctx := t.Context()
		if namespace != "" {
			ctx = definition.WithGranted(ctx, definition.Granted{namespace})
		}
		return overdue(t, ctx, s)
	}
	for n := range others {
		start("theirs", n, time.Second)
	}
	start("idle", 0, 10*time.Hour)
	start("ours", 0, time.Minute)
	now = now.Add(time.Hour)
	for namespace, want := range map[string]string{
		"ours": "overdue: 1 run, ours/run-0", "theirs": "overdue: 200 runs, theirs/run-", "idle": "no run is overdue", "": "overdue: 200 runs, theirs/run-",
	} {
		if got := level(namespace); !strings.HasPrefix(got, want) {
			t.Errorf("a caller for %q is told %q, want %q", namespace, got, want)
		}
	}
}

// overdue returns the finding of SD009.
func overdue(t *testing.T, ctx context.Context, s *swrun.Store) string {
	t.Helper()
	found := doctor.Examine(ctx, s, time.Now, "it is tested")
	n := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Code == "SD009" })
	if n < 0 {
		t.Fatalf("SD009 is missing in %+v", found)
	}
	return found[n].What
}
