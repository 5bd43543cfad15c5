package local

import (
	"maps"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// Activities of runs in memory: no outside worker can fetch them, but their timeouts pass as on a server.

// schedule has an activity wait for a worker that does not come, until one of its timeouts passes.
func (l *local) schedule(i *familyRun, e interpreter.Effect) {
	request, err := interpreter.ReadActivityRequest(e.Request.Body)
	if err != nil {
		l.reply(i, e, err)
		return
	}
	a := activity.New(e.Request, request, l.clock.now())
	if _, ends := a.First(); !ends && e.Request.Deadline.IsZero() {
		l.reply(i, e, errors.Configurationf(
			"the activity %s waits for a worker of the queue %s, and a run in memory has none: start the run on a server (swrun serve), or give it a scheduleToStart or scheduleToClose timeout",
			a.Type, a.Queue))
		return
	}
	record, failed := a.Record()
	if failed != nil {
		l.reply(i, e, errors.Runtimef("%s", failed))
		return
	}
	i.activities[e.ID] = record
}

// expireActivities ends the attempts of activities whose time is over.
func (l *local) expireActivities(i *familyRun) error {
	for _, effect := range slices.Sorted(maps.Keys(i.activities)) {
		record := i.activities[effect]
		if record.Due.IsZero() || l.clock.now().Before(record.Due) {
			continue
		}
		id := store.ActivityID{Run: store.Instance{Namespace: i.state.Namespace, ID: i.state.ID}, Effect: effect}
		expired, err := activity.Do(activity.Expire{}, id, record, l.clock.now())
		if err != nil {
			return err
		}
		if i.activities[effect] = expired.To; expired.To == nil {
			delete(i.activities, effect)
		}
		l.post(i, expired.Told)
	}
	return nil
}

// nextDue returns when the first activity of a run has to be looked at.
func (i *familyRun) nextDue() (next time.Time) {
	for _, record := range i.activities {
		next = interpreter.Earlier(next, record.Due)
	}
	return next
}
