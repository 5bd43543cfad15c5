package worker

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// expireActivities ends the attempts of activities whose deadlines have passed, and returns how many that were.
func (p *partition) expireActivities(ctx context.Context, due []store.ActivityID) (ended int, err error) {
	if len(due) == 0 {
		return 0, nil
	}
	changed, err := p.w.c.Store.ChangeActivities(ctx, store.ChangeActivities{Partition: p.n, Activities: due, Operation: activity.Expire{}})
	if err == nil {
		p.w.ended(ctx, due, changed)
	}
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

// Expect reports that work of a partition is due at a time by the store's clock. Without it the worker would notice within a second.
func (w *Worker) Expect(partition int, at time.Time) { w.partitions[partition].due(at) }

// maxReports is how many reports of outside workers may wait for a run. The store takes others.
const maxReports = 64

// Report passes the end of an attempt at an activity, as it is stored, to the run that waits for it, if this worker holds the run. It
// reports whether the run stored the end with its next step. Otherwise, also if the result is unknown, the caller must use the store.
func (w *Worker) Report(ctx context.Context, id store.ActivityID, is *store.Activity, op activity.Operation) (stored bool) {
	x := w.executorOf(id.Run)
	if x == nil {
		return false
	}
	answer := make(chan bool, 1)
	select {
	case x.reports <- &execution.Report{Effect: id.Effect, Activity: is, Operation: op, Answer: func(stored bool) { answer <- stored }}:
	default:
		return false
	}
	select {
	case stored = <-answer:
	case <-x.over: // also after it has answered, if that was the end of the run
		select {
		case stored = <-answer:
		default:
		}
	case <-ctx.Done():
	}
	return stored
}

// reported passes reports of outside workers to the execution.
func (x *executor) reported(r *execution.Report) {
	all := []*execution.Report{r}
	for len(x.reports) > 0 {
		all = append(all, <-x.reports)
	}
	x.execution.Reported(all...)
}
