package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// Activities: how a run schedules them, and dismisses them when it no longer waits for them. The owner of the run does not decide their
// transitions: their ends arrive as messages, or directly if the owner still holds the run.

// scheduled is an activity that a step asks for.
type scheduled struct {
	effect  interpreter.Effect
	request interpreter.ActivityRequest
}

// known is the owner's knowledge of one of its activities.
type known struct {
	queue string
	// record is the last known stored record. A worker may have taken the activity since. It is nil if no record is stored yet.
	record *store.Activity
	// changed reports that the batch contains a change of the stored record, and that record is the result of the change.
	changed bool
}

// maxSurprises is how often a commit may be refused because a worker changed an activity that the commit dismisses. The next commit
// dismisses it in any state, so that a worker with constant heartbeats cannot prevent a run from ending. The history then contains the
// worker that held the activity a moment before.
const maxSurprises = 10

// schedule has an activity stored with the next commit.
func (x *Execution) schedule(e interpreter.Effect) {
	r, err := interpreter.ReadActivityRequest(e.Request.Body)
	if err != nil {
		x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: err})
		return
	}
	x.batch.scheduled = append(x.batch.scheduled, scheduled{e, r})
	x.activities[e.ID] = known{queue: r.Queue}
	x.linger(r.Queue)
}

// dismiss removes an activity with the next commit, because the run no longer waits for it.
func (x *Execution) dismiss(id interpreter.EffectID) {
	is, ok := x.activities[id]
	if !ok {
		return
	}
	delete(x.activities, id)
	before := len(x.batch.scheduled)
	x.batch.scheduled = slices.DeleteFunc(x.batch.scheduled, func(s scheduled) bool { return s.effect.ID == id })
	if len(x.batch.scheduled) == before {
		change := store.ActivityChange{Effect: id, Queue: is.queue}
		if !is.changed && x.surprises < maxSurprises { // the history names the worker of the attempt: that must be correct
			change.From = is.record
		}
		x.batch.activities = append(x.batch.activities, change)
	}
}

// tellAttempts adds to the events of a step the workers and start times of the attempts that it cut. The commit is refused if a worker took
// an attempt since; then the step is repeated.
func (x *Execution) tellAttempts(history []interpreter.HistoryEvent) {
	for n := range history {
		e := &history[n]
		is := x.activities[e.Effect]
		if !e.Cut() || is.record == nil {
			continue
		}
		if attempt, err := activity.AttemptOf(is.record); err == nil {
			e.Attempt, e.Worker, e.StartedAt = attempt.Number, attempt.Worker, attempt.StartedAt
		}
	}
}

// knowStored records the changes of activities by a commit.
func (x *Execution) knowStored(c *store.Commit) {
	for _, change := range c.Activities {
		if is, ok := x.activities[change.Effect]; ok && change.To != nil {
			x.activities[change.Effect] = known{queue: is.queue, record: change.To}
		}
	}
}

// restoreActivities notes the activities that are stored with the run.
func (x *Execution) restoreActivities(all []store.StoredActivity) {
	x.countSurprise(all)
	x.activities, x.parked = map[interpreter.EffectID]known{}, nil
	for _, a := range all {
		is, err := activity.Parse(&a.Activity)
		if err != nil { // it counts as lost
			continue
		}
		if x.activities[a.Effect] = (known{queue: a.Queue, record: &a.Activity}); is.IsParked() {
			x.parked = append(x.parked, a)
		}
	}
}

// countSurprise notes whether an activity that the refused commit dismissed has been changed by others.
func (x *Execution) countSurprise(all []store.StoredActivity) {
	for _, change := range x.dismissed {
		n := slices.IndexFunc(all, func(a store.StoredActivity) bool { return a.Effect == change.Effect })
		if n < 0 || all[n].String() != change.From.String() {
			x.surprises++
			break
		}
	}
	x.dismissed = nil
}

// awaits returns for how many activities the run waits.
func (x *Execution) awaits() (n int64) {
	if x.state.Status.Final() {
		return 0
	}
	for id := range x.activities {
		if x.state.Awaits(id) {
			n++
		}
	}
	return n
}

// hasActivity reports whether an activity is stored with the run, or its end is in the inbox. Otherwise the activity is lost and would
// never end. It is scheduled again, as if it was never taken.
func (x *Execution) hasActivity(id interpreter.EffectID) bool {
	_, stored := x.activities[id]
	return stored || slices.ContainsFunc(x.queue, func(ev interpreter.Event) bool {
		message, _ := ev.(received)
		end, ok := message.Event.(interpreter.Finished)
		return ok && end.Effect == id
	})
}

// activityChanges adds the changes of activities to a commit. They are scheduled at the time of the commit.
func (x *Execution) activityChanges(c *store.Commit) error {
	c.Activities = x.batch.activities
	for _, s := range x.batch.scheduled {
		record, err := activity.New(s.effect.Request, s.request, c.At).Record()
		if err != nil {
			return err
		}
		input, err := s.request.Input.MarshalJSON()
		if err != nil {
			return err
		}
		c.Activities = append(c.Activities, store.ActivityChange{Effect: s.effect.ID, Queue: s.request.Queue, To: record, Input: input})
	}
	return x.putBack(c)
}

// putBack adds to a commit that the parked activities are in their queues again, unless the run is suspended after it. The store refuses the commit if
// others were parked since the run was read.
func (x *Execution) putBack(c *store.Commit) error {
	if c.Parked = x.stored.Parked; c.Status == interpreter.StatusSuspended {
		return nil
	}
	for _, a := range x.parked {
		if _, awaited := x.activities[a.Effect]; !awaited {
			continue
		}
		done, err := activity.Do(activity.Resume{}, store.ActivityID{Run: x.instance, Effect: a.Effect}, &a.Activity, c.At)
		if err != nil {
			return err
		}
		c.Activities = append(c.Activities, store.ActivityChange{Effect: a.Effect, Queue: a.Queue, From: &a.Activity, To: done.To})
	}
	return nil
}

// Report is the end of an attempt at an activity, which comes directly to the owner of its run.
type Report struct {
	Effect    interpreter.EffectID
	Activity  *store.Activity // as it is stored, as far as the reporter knows
	Operation activity.Operation
	// Answer is called once, with whether the operation is stored. If it is not, the store itself is to be asked for it.
	Answer func(stored bool)
}

// reported is the event of a report. It is stored, and answered, with the step that it causes.
type reported struct {
	interpreter.Event
	report *Report
	change store.ActivityChange
	before time.Time // time before which it must be stored
}

// Reported handles the ends of attempts that were reported directly.
func (x *Execution) Reported(all ...*Report) {
	for _, r := range all {
		if ev, ok := x.read(r); ok {
			x.queue = append(x.queue, ev)
		} else {
			r.Answer(false)
		}
	}
	x.advance()
}

// read returns the event of a report. A report is refused if the owner cannot decide about it, or if it would overtake a stored message
// about an earlier attempt that the run has not read.
func (x *Execution) read(r *Report) (ev reported, ok bool) {
	is, awaited := x.activities[r.Effect]
	if !awaited || x.program == nil || x.actions.Load != "" || x.actions.Commit != nil || x.actions.Reload || x.actions.Done || x.quarantined() {
		return ev, false
	}
	id := store.ActivityID{Run: x.instance, Effect: r.Effect}
	done, err := activity.Do(r.Operation, id, r.Activity, x.Clock())
	if err != nil || done.Told == nil || done.Attempt != x.state.Attempt(r.Effect) || slices.ContainsFunc(x.queue, isReportOf(r.Effect)) {
		return ev, false
	}
	change := store.ActivityChange{Effect: r.Effect, Queue: is.queue, From: r.Activity, To: done.To, Once: r.Operation.Once(id)}
	return reported{done.Told, r, change, done.Before}, true
}

func isReportOf(id interpreter.EffectID) func(interpreter.Event) bool {
	return func(ev interpreter.Event) bool {
		other, ok := ev.(reported)
		return ok && other.change.Effect == id
	}
}

// stepReported prepares the step of a report, and returns its event.
func (x *Execution) stepReported(r reported) interpreter.Event {
	x.batch.reports = append(x.batch.reports, r.report)
	x.batch.activities = append(x.batch.activities, r.change)
	if x.batch.firm = true; !r.before.IsZero() {
		x.batch.guard = interpreter.Earlier(x.batch.guard, r.before)
	}
	if r.change.To == nil {
		delete(x.activities, r.change.Effect)
	} else {
		x.activities[r.change.Effect] = known{queue: r.change.Queue, record: r.change.To, changed: true}
	}
	if x.Lingers != nil {
		x.Lingers.Ended(r.change.Queue)
	}
	return r.Event
}

// refuseReports answers reports that are not stored, and drops the reports that were not stepped.
func (x *Execution) refuseReports() {
	for _, r := range x.batch.reports {
		r.Answer(false)
	}
	x.batch.reports = nil
	x.queue = slices.DeleteFunc(x.queue, func(ev interpreter.Event) bool {
		r, ok := ev.(reported)
		if ok {
			r.report.Answer(false)
		}
		return ok
	})
}
