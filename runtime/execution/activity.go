package execution

import (
	"slices"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// Activities: how a run has them scheduled, and dismisses them when nobody waits for them any more. What becomes of them meanwhile
// is not for the owner of the run to decide: their ends come as messages.

// scheduled is an activity that a step asks for.
type scheduled struct {
	effect  interpreter.Effect
	request interpreter.ActivityRequest
}

// schedule has an activity stored with the next commit.
func (x *Execution) schedule(e interpreter.Effect) {
	r, err := interpreter.ReadActivityRequest(e.Request.Body)
	if err != nil {
		x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: err})
		return
	}
	x.batch.scheduled = append(x.batch.scheduled, scheduled{e, r})
	x.activities[e.ID] = r.Queue
}

// dismiss has an activity that nobody waits for any more removed with the next commit.
func (x *Execution) dismiss(id interpreter.EffectID) {
	queue, ok := x.activities[id]
	if !ok {
		return
	}
	delete(x.activities, id)
	before := len(x.batch.scheduled)
	x.batch.scheduled = slices.DeleteFunc(x.batch.scheduled, func(s scheduled) bool { return s.effect.ID == id })
	if len(x.batch.scheduled) == before {
		x.batch.dismissed = append(x.batch.dismissed, store.ActivityChange{Effect: id, Queue: queue})
	}
}

// restoreActivities notes the activities that are stored with the run.
func (x *Execution) restoreActivities(all []store.StoredActivity) {
	x.activities = map[interpreter.EffectID]string{}
	for _, a := range all {
		x.activities[a.Effect] = a.Queue
	}
}

// activityChanges adds to a commit what becomes of activities with it. They are scheduled at the time of the commit.
func (x *Execution) activityChanges(c *store.Commit) error {
	c.Activities = x.batch.dismissed
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
	return nil
}
