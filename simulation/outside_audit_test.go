package simulation

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// observer sees every write that may change activities, and compares each change with the promises. It uses its own rules, because a bug in package
// activity must not count as correct here.
type observer struct {
	store.Store
	w *world
}

// seen is the state that an activity must have after all observed changes.
type seen struct {
	is    *activity.Activity // nil after its end
	taken bool
	ended map[string]string // the reported end of each attempt, by its nonce
}

// known returns the observed state of an activity.
func (w *world) known(id store.ActivityID) *seen {
	if w.activities[id] == nil {
		w.activities[id] = &seen{ended: map[string]string{}}
	}
	return w.activities[id]
}

// stored returns the activities of a run that are really in the store.
func (w *world) stored(i store.Instance) map[interpreter.EffectID]*activity.Activity {
	all := map[interpreter.EffectID]*activity.Activity{}
	l, err := w.memory.Load(context.Background(), i)
	if err != nil {
		return all
	}
	for n := range l.Activities {
		a, err := activity.Parse(&l.Activities[n].Activity)
		if err != nil {
			w.problem("the record of an activity of %s cannot be read: %s", i, err)
			continue
		}
		all[l.Activities[n].Effect] = a
	}
	return all
}

func (w *world) storeTime() time.Time { return epoch().Add(w.now).Truncate(time.Millisecond) }

// ChangeActivities implements store.Activities.
func (o *observer) ChangeActivities(ctx context.Context, c store.ChangeActivities) ([]store.ActivityChanged, error) {
	changed, err := o.Store.ChangeActivities(ctx, c)
	if err != nil {
		return changed, err
	}
	for n, id := range c.Activities {
		if _, takes := c.Operation.(activity.Take); takes && store.RefusedAs(changed[n].Refused) == store.Suspended {
			o.w.judgePark(id)
			continue
		}
		o.w.judge(id, c.Operation, changed[n].Refused == nil)
	}
	return changed, nil
}

// Commit implements store.Runs.
func (o *observer) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	before, err := o.w.memory.Load(ctx, c.Instance)
	if err != nil {
		return store.Committed{}, err
	}
	done, err := o.Store.Commit(ctx, c)
	if err != nil || before.Lifecycle.Version == c.Next { // it was stored before
		return done, err
	}
	is := o.w.stored(c.Instance)
	for _, change := range c.Activities {
		id := store.ActivityID{Run: c.Instance, Effect: change.Effect}
		o.w.judgeCommit(id, change, is[change.Effect], c.At)
	}
	return done, nil
}

// judge compares the change of an activity by an operation with the allowed change.
func (w *world) judge(id store.ActivityID, op store.ActivityOperation, accepted bool) {
	k, is, now := w.known(id), w.stored(id.Run)[id.Effect], w.storeTime()
	was := k.is
	if !accepted || was == nil || same(was, is) {
		if was == nil && is != nil || was != nil && !same(was, is) {
			w.problem("A1: an operation %T that was refused has changed %s", op, id)
		}
		w.judgeRepeated(id, k, op, accepted)
		return
	}
	switch op := op.(type) {
	case activity.Take:
		w.judgeTake(id, k, is, now)
		was.Available, was.Nonce, was.Worker, was.StartedAt, was.HeartbeatAt = time.Time{}, op.Nonce, op.Worker, now, time.Time{}
		k.taken = true
	case activity.Return:
		w.judgeReport(id, k, op.Nonce, now)
		was.Available, was.Nonce, was.StartedAt, was.HeartbeatAt = now, "", time.Time{}, time.Time{}
		k.taken = false
	case activity.Heartbeat:
		w.judgeReport(id, k, op.Nonce, now)
		if was.HeartbeatAt = now; op.Progress != nil {
			was.Progress = op.Progress
		}
	case activity.Complete:
		w.judgeReport(id, k, op.Nonce, now)
		k.ended[op.Nonce] = "completed"
		k.is = nil
	case activity.Fail:
		w.judgeReport(id, k, op.Nonce, now)
		k.ended[op.Nonce] = "failed"
		k.fail(is, op.NonRetryable, now)
	case activity.Expire:
		kind := k.passed(now)
		if kind == "" {
			w.problem("I6: %s timed out early: %+v", id, was)
		}
		w.judgeLate(id, k, now)
		k.fail(is, kind == interpreter.DeadlineScheduleToClose, now)
	}
	if !same(k.is, is) {
		w.problem("A2: %T has made of %s\n%+v, not\n%+v", op, id, is, k.is)
		k.is = is
	}
}

// judgeRepeated checks an operation that changed nothing: it was refused, or had happened before.
func (w *world) judgeRepeated(id store.ActivityID, k *seen, op store.ActivityOperation, accepted bool) {
	switch op := op.(type) {
	case activity.Complete:
		w.judgeAnswer(id, accepted, k.ended[op.Nonce], "completed")
	case activity.Fail:
		w.judgeAnswer(id, accepted, k.ended[op.Nonce], "failed")
	case activity.Heartbeat: // in the same millisecond
		if accepted {
			w.judgeReport(id, k, op.Nonce, w.storeTime())
		}
	case activity.Take:
		if accepted && (k.is == nil || k.is.Nonce != op.Nonce) {
			w.problem("A3: %s was given away after its end, or twice", id)
		}
	default:
		if accepted {
			w.problem("A3: %T of %s was accepted, and nothing has changed", op, id)
		}
	}
}

// judgeAnswer checks the answer to a worker whose report of an end changed nothing.
func (w *world) judgeAnswer(id store.ActivityID, accepted bool, ended, reported string) {
	switch {
	case accepted && ended != reported:
		w.problem("A3: a worker was told that %s has %s, and it is not so", id, reported)
	case !accepted && ended == reported:
		w.problem("A3: a worker was told that %s has not %s, and it is so", id, reported)
	}
}

// judgeTake checks that an activity is given away at its time, and only to an allowed worker.
func (w *world) judgeTake(id store.ActivityID, k *seen, is *activity.Activity, now time.Time) {
	switch was := k.is; {
	case k.taken:
		w.problem("A3: %s was given away twice", id)
	case now.Before(was.Available):
		w.problem("A4: attempt %d of %s began %s early", was.Attempt, id, was.Available.Sub(now))
	case k.passed(now) != "":
		w.problem("I8: %s was given away after its %s", id, k.passed(now))
	case w.suspended(id.Run):
		w.problem("A9: %s was given away while its run is suspended", id)
	case is == nil:
		w.problem("A2: %s has ended as it was given away", id)
	}
}

// judgePark checks that an activity waits for the resume of its run after a worker tried to take it during the suspension.
func (w *world) judgePark(id store.ActivityID) {
	k, is := w.known(id), w.stored(id.Run)[id.Effect]
	switch was := k.is; {
	case !w.suspended(id.Run):
		w.problem("A9: %s is parked, and its run is not suspended", id)
	case was == nil || k.taken:
		w.problem("A2: %s was parked after its end, or while a worker has it", id)
	case !was.IsParked():
		was.Available, was.Parked = time.Time{}, was.Available
	}
	if !same(k.is, is) {
		w.problem("A2: parked, %s has become\n%+v, not\n%+v", id, is, k.is)
		k.is = is
	}
}

// suspended reports whether a run is stored as suspended.
func (w *world) suspended(i store.Instance) bool {
	l, err := w.memory.Load(context.Background(), i)
	return err == nil && l.Lifecycle.Status == interpreter.StatusSuspended
}

// judgeReport checks that a report belongs to the attempt in progress, and is within its time.
func (w *world) judgeReport(id store.ActivityID, k *seen, nonce string, now time.Time) {
	switch {
	case !k.taken || k.is.Nonce != nonce:
		w.problem("A5: a report about a superseded attempt at %s was accepted", id)
	case k.passed(now) != "":
		w.problem("I8: a report about %s was accepted after its %s", id, k.passed(now))
	}
}

// judgeLate checks that timeouts are not late after a while without faults.
func (w *world) judgeLate(id store.ActivityID, k *seen, now time.Time) {
	late := now.Sub(k.first())
	if since := w.now - w.knobs.faults; since > late+10*time.Second && late > 2*time.Second {
		w.problem("I7: a timeout of %s was %s late", id, late)
	}
}

// judgeCommit checks the changes of an activity that the owner of a run stored: a new activity, an activity that no task waits for, or the end of an
// attempt that was reported directly.
func (w *world) judgeCommit(id store.ActivityID, c store.ActivityChange, is *activity.Activity, at time.Time) {
	k, now := w.known(id), w.storeTime()
	switch {
	case c.From == nil && c.To != nil:
		if k.is != nil || is == nil || is.Attempt != 1 || is.ScheduledAt.After(now) {
			w.problem("A2: %s was scheduled as %+v, and was %+v", id, is, k.is)
		}
		k.is, k.taken = is, false
	case c.To == nil && c.Once == "":
		k.is = nil // dismissed
	case k.is == nil:
		w.problem("A3: an end of %s was stored after its end", id)
	case same(k.is, is) && c.Once == "":
	case k.is.IsParked() && c.Once == "":
		k.is.Available, k.is.Parked = k.is.Parked, time.Time{}
		if !same(k.is, is) || w.suspended(id.Run) {
			w.problem("A9: a commit has put back\n%+v as\n%+v", k.is, is)
		}
	default:
		w.judgeReport(id, k, k.is.Nonce, now)
		nonce := k.is.Nonce
		if k.ended[nonce] != "" {
			w.problem("A3: an attempt at %s has ended twice", id)
		}
		if k.ended[nonce] = "completed"; strings.HasPrefix(c.Once, (activity.Fail{Nonce: nonce}).Once(id)) {
			k.ended[nonce] = "failed"
		}
		if k.ended[nonce] == "failed" {
			k.fail(is, is == nil, at)
		} else {
			k.is = nil
		}
		if !same(k.is, is) {
			w.problem("A2: a commit has made of %s\n%+v, not\n%+v", id, is, k.is)
		}
	}
	if is == nil && k.is != nil || k.is == nil && is != nil {
		w.problem("A2: %s is %+v, not %+v", id, is, k.is)
	}
}

// fail applies a failed attempt to an activity. is contains its error, which is not checked.
func (k *seen) fail(is *activity.Activity, final bool, now time.Time) {
	was := k.is
	k.taken = false
	if final || was.Retry.MaxAttempts > 0 && was.Attempt >= was.Retry.MaxAttempts {
		k.is = nil
		return
	}
	r := was.Retry
	delay := time.Duration(float64(r.Initial) * math.Pow(r.Factor, float64(was.Attempt-1)))
	if r.Max > 0 {
		delay = min(delay, r.Max)
	}
	if n := len(r.Delays); n > 0 {
		delay = r.Delays[min(was.Attempt, n)-1]
	}
	was.Available, was.Parked = now.Add(delay).Truncate(time.Millisecond), time.Time{}
	was.Attempt++
	was.Nonce, was.StartedAt, was.HeartbeatAt = "", time.Time{}, time.Time{}
}

// deadlines returns the deadlines that count, by their kinds.
func (k *seen) deadlines() map[string]time.Time {
	a, all := k.is, map[string]time.Time{}
	add := func(kind string, from time.Time, length time.Duration) {
		if length > 0 {
			all[kind] = from.Add(length)
		}
	}
	add(interpreter.DeadlineScheduleToClose, a.ScheduledAt, a.Timeouts.ScheduleToClose)
	if !k.taken {
		add(interpreter.DeadlineScheduleToStart, a.Since(), a.Timeouts.ScheduleToStart)
		return all
	}
	add(interpreter.DeadlineStartToClose, a.StartedAt, a.Timeouts.StartToClose)
	alive := a.StartedAt
	if a.HeartbeatAt.After(alive) {
		alive = a.HeartbeatAt
	}
	add(interpreter.DeadlineHeartbeat, alive, a.Timeouts.Heartbeat)
	return all
}

// first returns when the first deadline passes.
func (k *seen) first() (first time.Time) {
	for _, at := range k.deadlines() {
		first = interpreter.Earlier(first, at)
	}
	return first
}

// passed returns the kind of the deadline that has passed. If the deadline that ends the activity has passed, it returns that one, regardless of the
// order.
func (k *seen) passed(now time.Time) string {
	all := k.deadlines()
	if at, ok := all[interpreter.DeadlineScheduleToClose]; ok && !now.Before(at) {
		return interpreter.DeadlineScheduleToClose
	}
	for _, at := range all {
		if !now.Before(at) {
			return "deadline"
		}
	}
	return ""
}

// same reports whether two states of an activity are the same, except for the worker and the error of a failure.
func same(a, b *activity.Activity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Attempt == b.Attempt && a.Nonce == b.Nonce && a.Queue == b.Queue && a.Available.Equal(b.Available) && a.Parked.Equal(b.Parked) &&
		a.StartedAt.Equal(b.StartedAt) && a.HeartbeatAt.Equal(b.HeartbeatAt) && a.ScheduledAt.Equal(b.ScheduledAt) &&
		(a.Progress == nil) == (b.Progress == nil) && (a.Progress == nil || a.Progress.V == b.Progress.V)
}

// auditAttempts checks that the attempts of each activity have the numbers 1, 2, 3 in the history, and that each began after its time.
func (w *world) auditAttempts(i store.Instance, entries []client.HistoryEntry) {
	last := map[interpreter.EffectID]int{}
	for _, e := range entries {
		for _, r := range e.Events {
			if r.Type == interpreter.EffectStarted && r.Route == interpreter.RouteActivity {
				last[r.Effect] = 0
			}
			_, isActivity := last[r.Effect]
			ends := isActivity && (r.Type == interpreter.EffectRetried || r.Type == interpreter.EffectFinished && r.Attempt > 0)
			if !ends {
				continue
			}
			if last[r.Effect]++; r.Attempt != last[r.Effect] {
				w.problem("A6: attempt %d at effect %d of %s ends after %d others", r.Attempt, r.Effect, i, last[r.Effect]-1)
			}
		}
	}
}

// auditLeft checks that no activity is left when all runs are over: no record, and no entry in a queue or among due deadlines.
func (w *world) auditLeft() {
	ctx := context.Background()
	for p := range w.knobs.partitions {
		page, err := w.memory.List(ctx, p, "", 1000)
		if err != nil {
			w.problem("list: %s", err)
			return
		}
		for _, item := range page.Items {
			for effect, a := range w.stored(item.Instance) {
				w.problem("A7: activity %d of %s is left: %+v", effect, item.Instance, a)
			}
		}
		lengths, err := w.memory.QueueLengths(ctx, p)
		if err != nil || len(lengths) > 0 {
			w.problem("I5: queues are left: %v, %v", lengths, err)
		}
		if work, err := w.memory.Poll(ctx, p, 10, false); err != nil || len(work.Activities) > 0 || !work.Next.IsZero() {
			w.problem("I5: activities are due after all: %v at %s, %v", work.Activities, work.Next, err)
		}
	}
}
