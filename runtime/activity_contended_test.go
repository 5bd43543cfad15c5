package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// contended is a store in which another poller takes the first activities offered in each partition.
type contended struct {
	store.Store
	robbed map[int]bool
}

func (c *contended) Available(ctx context.Context, a store.Available) (store.Offered, error) {
	offered, err := c.Store.Available(ctx, a)
	if err != nil || len(offered.Activities) == 0 || c.robbed[a.Partition] {
		return offered, err
	}
	c.robbed[a.Partition] = true
	taken := store.ChangeActivities{Partition: a.Partition, Activities: offered.Activities, Operation: activity.Take{Worker: "other", Nonce: "other"}}
	_, err = c.Store.ChangeActivities(ctx, taken)
	return offered, err
}

// TestPollsThatComeTooLate: a poll whose findings are all taken by others looks again immediately, with and without a limit of the queue.
func TestPollsThatComeTooLate(t *testing.T) {
	for name, rules := range map[string]queue.Rules{"without a limit": {}, "with a limit": {Concurrency: 1000}} {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				a.rule("default", func(r *queue.Rules) { *r = rules })
				for range 60 {
					a.start("do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]", client.StartOptions{})
				}
				time.Sleep(time.Second) // they wait
				a.matcher = matching.New(matching.Config{Store: &contended{a.store, map[int]bool{}}})
				began := time.Now()
				a.poll()
				if took := time.Since(began); took > 0 {
					a.Errorf("the poll is answered after %s", took)
				}
			})
		})
	}
}
