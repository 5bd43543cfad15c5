package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// withoutActivities is a store that has lost the activities of runs when they are claimed.
type withoutActivities struct{ store.Store }

func (f withoutActivities) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	claimed, err := f.Store.Claim(ctx, c)
	for n := range claimed {
		claimed[n].Activities = nil
	}
	return claimed, err
}

// TestLostActivityIsScheduledAgain (I4): a worker that takes over a run with a lost activity schedules the activity again, with the same
// key and input. An activity whose result arrived in the meantime is not lost.
func TestLostActivityIsScheduledAgain(t *testing.T) {
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := &activities{host: newHost(t)}
			a.matcher = matching.New(matching.Config{Store: a.store})
			stop := a.work(worker.Config{})
			i := a.start("do: [{s: {set: {n: 7}}}, {work: {call: 'activity:1.0.0@default', with: {type: x, input: '${ .n }', retry: {backoff: [PT0S]}}}}]", client.StartOptions{})
			first := a.poll()
			time.Sleep(5 * time.Second) // the run is parked
			stop()
			a.store = withoutActivities{a.store}
			if ended {
				a.must(a.matcher.Complete(a.Context(), first.Token, "done"))
			} else {
				a.must(a.client.Suspend(a.Context(), i, ""))
				a.must(a.client.Resume(a.Context(), i, ""))
			}
			defer a.work(worker.Config{})()
			if !ended {
				again := a.poll()
				a.expect([]any{again.ID, again.Activity.Key, again.Input.V, again.Activity.Attempt}, []any{first.ID, first.Activity.Key, 7, 1})
				a.must(a.matcher.Complete(a.Context(), again.Token, "done"))
			}
			if o := a.wait(i); o.Status != interpreter.StatusCompleted || o.Output != "done" {
				t.Errorf("got %+v", o)
			}
			a.expect(a.events(i), "effect.finished 1 by w1")
		})
	}
}
