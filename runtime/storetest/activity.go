package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// operation is an operation on activities, given by its effect on an existing activity.
type operation struct {
	once string
	make func(a store.Activity, now time.Time) (*store.ActivityOutcome, store.Code)
}

func (o operation) Once(store.ActivityID) string { return o.once }

func (o operation) Transition(_ store.ActivityID, _ *store.Lifecycle, a *store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
	if a == nil {
		return nil, store.NoSuch
	}
	return o.make(*a, now)
}

// take takes an activity that is available.
func take(by string) operation {
	return operation{make: func(a store.Activity, now time.Time) (*store.ActivityOutcome, store.Code) {
		if a.Available.IsZero() || now.Before(a.Available) {
			return nil, store.Conflict
		}
		a.Available, a.Due, a.Data = time.Time{}, now.Add(time.Minute), fmt.Appendf(nil, "{%q: 1}", by)
		return &store.ActivityOutcome{To: &a}, ""
	}}
}

// end ends an activity, with a message to its run.
func end(message string) operation {
	return operation{once: "end of " + message, make: func(store.Activity, time.Time) (*store.ActivityOutcome, store.Code) {
		return &store.ActivityOutcome{Message: store.Message(message)}, ""
	}}
}

const queue = "mail"

// scheduled starts a run, schedules an activity of the run, and parks the run with it.
func (s *suite) scheduled(i store.Instance, delay time.Duration) store.ActivityID {
	s.Helper()
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(`{}`)})
	s.must(err)
	c := s.claim(i)
	a := &store.Activity{Queue: queue, Available: c.At.Add(delay), Due: c.At.Add(delay + time.Second), Data: []byte(`{"a": "b\n"}`)}
	parked := commit(c)
	parked.Release, parked.Status = true, interpreter.StatusWaiting
	parked.Awaits, parked.Activities = 1, []store.ActivityChange{{Effect: 3, Queue: queue, To: a, Input: []byte("input")}}
	_, err = s.Commit(s.ctx(), parked)
	s.must(err)
	return store.ActivityID{Run: i, Effect: 3}
}

func (s *suite) change(id store.ActivityID, op store.ActivityOperation) store.ActivityChanged {
	s.Helper()
	all, err := s.ChangeActivities(s.ctx(), store.ChangeActivities{
		Partition: s.partition(id.Run), Activities: []store.ActivityID{id}, Operation: op, Input: true,
	})
	s.must(err)
	return all[0]
}

func (s *suite) available(i store.Instance) store.Offered {
	s.Helper()
	offered, err := s.Available(s.ctx(), store.Available{Partition: s.partition(i), Queues: []string{"other", queue, queue}, N: 10})
	s.must(err)
	return offered
}

func activityOffered(s *suite) {
	id := s.scheduled(instance("a"), 0)
	if offered := s.available(id.Run); !slices.Equal(offered.Activities, []store.ActivityID{id}) {
		s.Errorf("offered is %v", offered.Activities)
	}
	other, err := s.Available(s.ctx(), store.Available{Partition: s.partition(id.Run), Queues: []string{"other"}, N: 10})
	s.must(err)
	if len(other.Activities) > 0 {
		s.Errorf("another queue offers %v", other.Activities)
	}
	if l := s.load(id.Run); len(l.Activities) != 1 || l.Activities[0].Effect != 3 || string(l.Activities[0].Data) != `{"a": "b\n"}` {
		s.Errorf("loaded are %+v", l.Activities)
	}
	changed := s.change(id, take("me"))
	if changed.Refused != nil || string(changed.Input) != "input" || string(changed.Activity.Data) != `{"me": 1}` {
		s.Errorf("taken is %+v", changed)
	}
	s.refused(s.change(id, take("you")).Refused, store.Conflict)
	if offered := s.available(id.Run); len(offered.Activities) > 0 {
		s.Errorf("offered is %v after it was taken", offered.Activities)
	}
	if s.load(id.Run).Lifecycle.Mail > 0 {
		s.Error("there is a message although no message was due for delivery")
	}
}

func activityLater(s *suite) {
	id := s.scheduled(instance("a"), time.Minute)
	offered := s.available(id.Run)
	if len(offered.Activities) > 0 || !offered.Next.Equal(offered.At.Add(time.Minute).Truncate(time.Millisecond)) && offered.Next.Sub(offered.At) > time.Minute {
		s.Errorf("offered is %+v", offered)
	}
	s.Advance(time.Minute)
	if offered := s.available(id.Run); len(offered.Activities) != 1 {
		s.Errorf("offered is %+v when it is time", offered)
	}
}

// activityTakenOnce: only one of many concurrent requests gets an activity.
func activityTakenOnce(s *suite) {
	id := s.scheduled(instance("a"), 0)
	var group sync.WaitGroup
	got := make(chan store.ActivityChanged, 20)
	for n := range cap(got) {
		group.Go(func() {
			all, err := s.ChangeActivities(s.ctx(), store.ChangeActivities{
				Partition: s.partition(id.Run), Activities: []store.ActivityID{id}, Operation: take(fmt.Sprint(n)),
			})
			if err != nil {
				s.Error(err)
				return
			}
			got <- all[0]
		})
	}
	group.Wait()
	close(got)
	taken := 0
	for c := range got {
		if c.Refused == nil {
			taken++
		}
	}
	if taken != 1 {
		s.Errorf("%d have taken it", taken)
	}
}

func activityEnds(s *suite) {
	id := s.scheduled(instance("a"), 0)
	s.must(s.change(id, take("me")).Refused)
	for range 2 { // a repetition is not refused
		s.must(s.change(id, end("done")).Refused)
	}
	s.refused(s.change(id, end("done otherwise")).Refused, store.NoSuch)
	if w := s.poll(id.Run); !slices.Contains(w.Begun, id.Run) {
		s.Errorf("its run is not ready: %+v", w)
	}
	c := s.claim(id.Run)
	if len(c.Inbox) != 1 || string(c.Inbox[0]) != "done" || len(c.Activities) > 0 {
		s.Errorf("claimed is %q with %v", c.Inbox, c.Activities)
	}
	for _, forgotten := range []bool{false, true} {
		s.Advance(store.ReportRemembered - time.Second)
		_, err := s.Store.Scrub(s.ctx(), store.Scrub{Partition: s.partition(id.Run), N: 100})
		s.must(err)
		if refused := s.change(id, end("done")).Refused; (refused != nil) != forgotten {
			s.Errorf("repeating it is answered with %v, forgotten: %v", refused, forgotten)
		}
	}
}

// activityEndsWithCommit: the owner of a run stores the end of an activity with the next step of the run, if the activity is unchanged.
func activityEndsWithCommit(s *suite) {
	i := instance("a")
	id := s.scheduled(i, 0)
	s.must(s.change(id, take("ada")).Refused)
	s.must(s.Deliver(s.ctx(), store.Delivery{To: i, Message: store.Message("wake")}))
	held := s.claim(i)
	if len(held.Activities) != 1 {
		s.Fatalf("the run has the activities %+v", held.Activities)
	}
	is := held.Activities[0].Activity
	outdated := is
	outdated.Data = []byte(`{"somebody": "else"}`)
	c := commit(held)
	c.Activities = []store.ActivityChange{{Effect: id.Effect, Queue: queue, From: &outdated, Once: "end of it"}}
	_, err := s.Commit(s.ctx(), c)
	s.refused(err, store.Conflict)
	c.Activities[0].From = &is
	for range 2 { // the second time as if the first answer was lost
		_, err = s.Commit(s.ctx(), c)
		s.must(err)
	}
	again := end("it")
	again.once = "end of it"
	s.must(s.change(id, again).Refused)
	s.refused(s.change(id, end("other")).Refused, store.NoSuch)
	loaded, err := s.Load(s.ctx(), i)
	if s.must(err); len(loaded.Activities) != 0 {
		s.Errorf("the run has the activities %+v", loaded.Activities)
	}
	s.Advance(2 * time.Minute)
	if w := s.poll(i); len(w.Activities) > 0 {
		s.Errorf("an activity that ended is due: %v", w.Activities)
	}
}

// activityTooLate: an outcome with a time limit is refused from that time on.
func activityTooLate(s *suite) {
	id := s.scheduled(instance("a"), 0)
	at := s.available(id.Run).At
	late := operation{once: "late", make: func(store.Activity, time.Time) (*store.ActivityOutcome, store.Code) {
		return &store.ActivityOutcome{Message: store.Message("late"), Before: at}, ""
	}}
	s.refused(s.change(id, late).Refused, store.TimedOut)
	if l := s.load(id.Run); len(l.Activities) != 1 || l.Lifecycle.Mail > 0 {
		s.Errorf("it changed anyway: %+v", l)
	}
}

func activityDue(s *suite) {
	first := s.scheduled(instance("a"), time.Minute)
	if w := s.poll(first.Run); len(w.Activities) > 0 || w.Next.IsZero() {
		s.Errorf("the work is %+v", w)
	}
	s.Advance(2 * time.Minute)
	if w := s.poll(first.Run); !slices.Contains(w.Activities, first) {
		s.Errorf("the work is %+v when it is due", w)
	}
	s.must(s.change(first, end("over")).Refused)
	if w := s.poll(first.Run); len(w.Activities) > 0 {
		s.Errorf("the work is %+v after its end", w)
	}
}

// activityDismissed: the commit that dismisses an activity removes it in any state.
func activityDismissed(s *suite) {
	for n, taken := range []bool{false, true} {
		id := s.scheduled(instance(fmt.Sprint("a", n)), 0)
		if taken {
			s.must(s.change(id, take("me")).Refused)
		}
		s.must(s.Store.Command(s.ctx(), store.Command{To: id.Run, ID: "cancel " + id.String(), Verb: store.VerbCancel, Message: store.Message("x")}))
		over := closing(s.claim(id.Run))
		over.Activities = []store.ActivityChange{{Effect: id.Effect, Queue: queue}}
		_, err := s.Commit(s.ctx(), over)
		s.must(err)
		s.refused(s.change(id, end("too late")).Refused, store.NoSuch)
		s.Advance(time.Hour)
		if offered, w := s.available(id.Run), s.poll(id.Run); len(offered.Activities)+len(w.Activities) > 0 {
			s.Errorf("it is still there: %v, %v", offered.Activities, w.Activities)
		}
	}
	s.lengths(instance("a0"), "")
}

// activitiesFairly: many activities of one namespace do not delay others.
func activitiesFairly(s *suite) {
	one := instance("a")
	s.scheduled(one, 0)
	for range 5 {
		s.scheduled(s.beside(one, "test"), 0)
	}
	for range 2 {
		s.scheduled(s.beside(one, "small"), 0)
	}
	offered, err := s.Available(s.ctx(), store.Available{Partition: s.partition(one), Queues: []string{queue}, N: 4})
	s.must(err)
	small := 0
	for _, id := range offered.Activities {
		if id.Run.Namespace == "small" {
			small++
		}
	}
	if len(offered.Activities) != 4 || small != 2 {
		s.Errorf("offered is %v", offered.Activities)
	}
	offered, err = s.Available(s.ctx(), store.Available{Partition: s.partition(one), Queues: []string{queue}, Namespaces: []string{"small"}, N: 10})
	s.must(err)
	if len(offered.Activities) != 2 {
		s.Errorf("offered of one namespace is %v", offered.Activities)
	}
	s.lengths(one, "mail small 2 false, mail test 6 false")
	s.activitiesInTurn(one)
}

// beside returns a new run of a namespace, in the partition of another run.
func (s *suite) beside(one store.Instance, namespace string) store.Instance {
	for n := 0; ; n++ {
		if i := (store.Instance{Namespace: namespace, ID: fmt.Sprint(n)}); s.partition(i) == s.partition(one) {
			if _, err := s.Load(s.ctx(), i); err != nil {
				return i
			}
		}
	}
}

// activitiesOfMany: the few activities that may be taken now are found among those of many namespaces that may be taken later.
func activitiesOfMany(s *suite) {
	one, now := instance("a"), map[string]bool{"many17": true, "many55": true, "many101": true}
	var first time.Time // the earliest time at which one of the others may be taken
	for n := range 110 {
		namespace, delay := fmt.Sprintf("many%d", n), time.Hour
		if now[namespace] {
			delay = 0
		}
		id := s.scheduled(s.beside(one, namespace), delay)
		if l := s.load(id.Run); n == 0 {
			first = l.Activities[0].Available
		}
	}
	for turn := range 4 {
		for n := 1; n <= 4; n++ {
			offered, err := s.Available(s.ctx(), store.Available{Partition: s.partition(one), Queues: []string{queue}, N: n, Turn: turn * 29})
			s.must(err)
			found := map[string]bool{}
			for _, id := range offered.Activities {
				found[id.Run.Namespace] = now[id.Run.Namespace]
			}
			if len(offered.Activities) != min(n, 3) || len(found) != min(n, 3) || slices.Contains(slices.Collect(maps.Values(found)), false) {
				s.Errorf("of three activities, %d are asked for: offered is %v", n, offered.Activities)
			}
			if n == 4 && offered.Next.Sub(first).Abs() > time.Millisecond {
				s.Errorf("others may be taken at %v, want %v", offered.Next, first)
			}
		}
	}
}

// activitiesInTurn expects each of two namespaces in turn.
func (s *suite) activitiesInTurn(one store.Instance) {
	s.Helper()
	first := map[string]int{}
	for turn := range 4 { // a caller that asks for only one activity gets each of them in turn
		offered, err := s.Available(s.ctx(), store.Available{Partition: s.partition(one), Queues: []string{queue}, N: 1, Turn: turn})
		s.must(err)
		for _, id := range offered.Activities {
			first[id.Run.Namespace]++
		}
	}
	if first["small"] != 2 || first["test"] != 2 {
		s.Errorf("in four turns, the numbers offered of each namespace are: %v", first)
	}
}

// lengths compares the lengths of the queues of a run's partition.
func (s *suite) lengths(i store.Instance, want string) {
	s.Helper()
	lengths, err := s.QueueLengths(s.ctx(), s.partition(i))
	s.must(err)
	var text []string
	for _, l := range lengths {
		text = append(text, fmt.Sprintf("%s %s %d %t", l.Name, l.Namespace, l.Waiting, l.Since.IsZero()))
	}
	if got := strings.Join(text, ", "); got != want {
		s.Errorf("the lengths are %q, want %q", got, want)
	}
}

// activityHints: listeners get hints of available activities.
func activityHints(s *suite) {
	ctx, cancel := context.WithTimeout(s.ctx(), 10*time.Second)
	defer cancel()
	hints := s.Hints(ctx)
	for n := 0; ; n++ { // a subscription may take a moment
		s.scheduled(instance(fmt.Sprint("a", n)), 0)
		select {
		case h := <-hints:
			for h.Queue != queue {
				select {
				case h = <-hints:
				case <-ctx.Done():
					s.Fatal("no hint of the queue came")
				}
			}
			return
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			s.Fatal("no hint came")
		}
	}
}
