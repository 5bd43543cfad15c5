package swrun_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
)

// TestOlderActivities: a worker can take a waiting activity that an earlier build has stored. If the activity is then cut, the history names its
// worker (promises 225).
func TestOlderActivities(t *testing.T) {
	for name, url := range goldenStores(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() // nothing is left to be written
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			engine := must(swrun.NewEngine(s, swrun.EngineConfig{Drain: time.Second}))
			taken := must(engine.Activities().Poll(ctx, matching.Poll{Queues: []string{"default"}, Limit: 1, Worker: "w1"}))
			if len(taken) != 1 || taken[0].ID.Run.ID != "asks" {
				t.Fatalf("a worker has taken %v", taken)
			}
			if _, err := engine.Activities().Heartbeat(ctx, taken[0].Token, nil); err != nil {
				t.Fatal(err)
			}
			go func() { _ = engine.Work(ctx) }() // it returns only that it was stopped
			_, _ = engine.Run("aa", "asks").Await(ctx)
			cuts := 0
			err = engine.Run("aa", "asks").History(ctx, func(e client.HistoryEntry) error {
				for _, r := range e.Events {
					if !r.Cut() {
						continue
					}
					if cuts++; r.Worker != "w1" || r.Attempt != 1 || !r.StartedAt.Equal(taken[0].Activity.StartedAt) {
						t.Errorf("the history says %s of the attempt %d by %q since %s", r.Type, r.Attempt, r.Worker, r.StartedAt)
					}
				}
				return nil
			})
			if err != nil || cuts != 1 {
				t.Errorf("the history tells of %d attempts that were cut, %v", cuts, err)
			}
		})
	}
}
