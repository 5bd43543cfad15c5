package storetest

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// considerate takes an activity that is available, and parks it if its run is suspended.
type considerate struct{ operation }

func (c considerate) Transition(id store.ActivityID, run *store.Lifecycle, a *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	o, code := c.operation.Transition(id, run, a, now)
	if code == "" {
		o.WithRecord, o.Parks = true, run.Status == interpreter.StatusSuspended
	}
	return o, code
}

// activityParked: taking an activity of a suspended run is refused, and removes the activity from its queue. Only an owner that knows the
// activity resumes the run, and puts the activity back into its queue.
func activityParked(s *suite) {
	id := s.scheduled(instance("a"), 0)
	s.must(s.Store.Command(s.ctx(), store.Command{To: id.Run, Verb: store.VerbSuspend, Message: store.Message("m"), ID: "suspend"}))
	c := s.claim(id.Run)
	suspended := commit(c)
	suspended.Status, suspended.Read, suspended.Awaits = interpreter.StatusSuspended, 1, 1
	_, err := s.Commit(s.ctx(), suspended)
	s.must(err)

	parked := s.change(id, considerate{take("me")})
	s.refused(parked.Refused, store.Suspended)
	if parked.Was == nil || parked.Was.Available.IsZero() || parked.Activity == nil || !parked.Activity.Available.IsZero() {
		s.Errorf("it is parked as %+v, and was %+v", parked.Activity, parked.Was)
	}
	if offered := s.available(id.Run); len(offered.Activities) > 0 {
		s.Errorf("offered is %v while its run is suspended", offered.Activities)
	}
	l := s.load(id.Run)
	if l.Lifecycle.Parked != 1 || len(l.Activities) != 1 || !l.Activities[0].Available.IsZero() {
		s.Fatalf("loaded are %+v and %+v", l.Lifecycle, l.Activities)
	}

	resumed := commit(c)
	resumed.Status, resumed.Version, resumed.Next, resumed.Awaits = interpreter.StatusWaiting, suspended.Next, suspended.Next+1, 1
	_, err = s.Commit(s.ctx(), resumed)
	s.refused(err, store.Conflict)
	back := l.Activities[0].Activity
	back.Available = suspended.At
	resumed.Parked = 1
	resumed.Activities = []store.ActivityChange{{Effect: id.Effect, Queue: queue, From: &l.Activities[0].Activity, To: &back}}
	_, err = s.Commit(s.ctx(), resumed)
	s.must(err)
	if offered := s.available(id.Run); !slices.Equal(offered.Activities, []store.ActivityID{id}) {
		s.Errorf("offered is %v after the resume", offered.Activities)
	}
	if l := s.load(id.Run); l.Lifecycle.Parked != 0 {
		s.Errorf("the record is %+v after the resume", l.Lifecycle)
	}
	s.must(s.change(id, considerate{take("me")}).Refused)
}
