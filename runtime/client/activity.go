package client

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// This file describes the activities that a run waits for.

// readActivities reads the activities of a run. Unreadable activities are omitted: the store's checks report them.
func readActivities(all []store.StoredActivity) map[interpreter.EffectID]*activity.Activity {
	found := map[interpreter.EffectID]*activity.Activity{}
	for _, stored := range all {
		if a, err := activity.Parse(&stored.Activity); err == nil {
			found[stored.Effect] = a
		}
	}
	return found
}

// firstOfActivities returns when the first deadline of some activities passes; zero for never.
func firstOfActivities(all []store.StoredActivity) (first time.Time) {
	for _, a := range all {
		first = interpreter.Earlier(first, a.Due)
	}
	return first
}

// activityDeadlines returns the deadlines of the activities that the run waits for.
func (d *Description) activityDeadlines() (all []DescribedDeadline) {
	for _, o := range d.OpenTasks {
		a := d.Activities[o.Effect]
		if a == nil {
			continue
		}
		for _, deadline := range a.Deadlines() {
			described := d.deadline(interpreter.ActiveDeadline{
				Deadline: interpreter.Deadline{Kind: deadline.Kind, At: deadline.At, StartedAt: deadline.StartedAt}, Pointer: o.Pointer, Origin: o.Origin,
			})
			if !a.IsLast(deadline.Kind) {
				described.Retries, described.CaughtBy, described.Conditional, described.AwaitsRelease = true, "", false, false
			}
			all = append(all, described)
		}
	}
	return all
}

// maxFailure is the maximum number of bytes of an earlier attempt's error in a sentence.
const maxFailure = 200

// waitsForActivity describes the current state of an activity.
func (d *Description) waitsForActivity(o interpreter.OpenTask, a *activity.Activity, at string) string {
	what := fmt.Sprintf("the activity %s of %s", a.Type, at)
	text, attempt := "", fmt.Sprintf("attempt %d", a.Attempt)
	if a.Retry.MaxAttempts > 0 {
		attempt += fmt.Sprintf(" of %d", a.Retry.MaxAttempts)
	}
	switch {
	case a.Taken():
		worker := a.Worker
		if worker == "" {
			worker = "an outside worker"
		}
		text = fmt.Sprintf("%s performs %s, since %s (%s)", worker, what, duration.FormatRough(d.At.Sub(a.StartedAt)), attempt)
	case a.IsParked():
		text = fmt.Sprintf("%s waits until the run is resumed (%s)", what, attempt)
	case a.Available.After(d.At):
		text = fmt.Sprintf("%s is attempted again at %s, %s (%s)", what, clockTime(a.Available), d.in(a.Available), attempt)
	case d.waitsInQueue(what, a.Queue) != "":
		text = fmt.Sprintf("%s, for %s (%s)", d.waitsInQueue(what, a.Queue), duration.FormatRough(d.At.Sub(a.Available)), attempt)
	default:
		text = fmt.Sprintf("%s waits for an outside worker of the queue %s, since %s (%s)", what, a.Queue, duration.FormatRough(d.At.Sub(a.Available)), attempt)
		if d.At.Sub(a.Available) > queue.UnpolledAfter && d.At.Sub(d.polled[a.Queue].Last()) > queue.UnpolledAfter {
			text += "; " + PolledText(d.polled[a.Queue], d.At)
		}
	}
	if a.Failure != nil {
		text += ", after: " + shorten.To(a.Failure.Detail, maxFailure)
	}
	return text
}

// delayedActivities returns the activities of the run that wait for the time of their next attempt.
func (d *Description) delayedActivities() (all []store.ActivityID) {
	for _, o := range d.OpenTasks {
		if a := d.Activities[o.Effect]; a != nil && a.Delayed(d.At) {
			all = append(all, store.ActivityID{Run: d.Instance, Effect: o.Effect})
		}
	}
	return all
}

// retryActivitiesNow starts the next attempts of activities of a run immediately. An activity that is no longer waiting is unchanged.
func (c *Client) retryActivitiesNow(ctx context.Context, i store.Instance, all []store.ActivityID) error {
	if len(all) == 0 {
		return nil
	}
	_, err := c.store.ChangeActivities(ctx, store.ChangeActivities{
		Partition: i.Partition(c.store.Layout().Partitions), Activities: all, Operation: activity.RetryNow{},
	})
	return err
}
