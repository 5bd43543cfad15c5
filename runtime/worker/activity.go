package worker

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// expireActivities ends the attempts of activities whose deadlines have passed, and returns how many that were.
func (p *partition) expireActivities(ctx context.Context, due []store.ActivityID) (ended int, err error) {
	if len(due) == 0 {
		return 0, nil
	}
	changed, err := p.w.c.Store.ChangeActivities(ctx, store.ChangeActivities{Partition: p.n, Activities: due, Operation: activity.Expire{}})
	for _, c := range changed {
		if c.Refused == nil {
			ended++
		}
		if c.Activity != nil {
			p.due(c.Activity.Due)
		}
	}
	return ended, err
}

// Expect says that something of a partition is due at a time by the store's clock. The worker would notice within a second.
func (w *Worker) Expect(partition int, at time.Time) { w.partitions[partition].due(at) }
