package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
)

// Forecast computes when the schedule of a workflow starts runs, as if it were deployed. It is for users without a store.
type Forecast struct {
	plan     *plan
	s        Schedule
	seen     map[string]bool     // the events that came
	gathered map[string]*pending // events that wait for others, by their part
}

// NewForecast returns the forecast of a workflow from a time on. compile compiles the listener for the events of its schedule.
func NewForecast(w *dsl.Workflow, compile definition.Compile, now time.Time) (*Forecast, error) {
	d := w.Document
	p, err := newPlan(w, definition.Reference{Namespace: d.Namespace, Name: d.Name, Version: d.Version}, "", compile)
	if err != nil {
		return nil, err
	}
	f := &Forecast{plan: p, seen: map[string]bool{}, gathered: map[string]*pending{}}
	f.s.follow(p, now)
	return f, nil
}

// Next returns when the next run starts; zero if that is not known, since it follows from the end of another or from an event.
func (f *Forecast) Next() time.Time { return f.s.Next() }

// Due returns the due runs, the earliest first.
func (f *Forecast) Due(now time.Time) []Firing {
	f.s.decide(f.plan, now)
	due := f.s.Pending
	f.s.Pending = nil
	slices.SortStableFunc(due, func(a, b Firing) int { return a.For.Compare(b.For) })
	return due
}

// Ended reports the end of a run.
func (f *Forecast) Ended(id string, at time.Time) {
	f.s.endOf(f.plan, map[string]time.Time{id: at})
}

// Triggered is a run that events start.
type Triggered struct {
	Firing
	Input any
	Fault error // why it cannot be started; nil if it can
}

// Arrived returns the runs that an event starts. One with the source and id of an earlier one starts nothing.
func (f *Forecast) Arrived(event map[string]any, now time.Time) (all []Triggered, err error) {
	t, e := f.plan.trigger, Event{Key: fmt.Sprint(event["source"], " ", event["id"]), Attributes: event}
	if t == nil || f.seen[e.Key] || !t.mayTake(event) {
		return nil, nil
	}
	f.seen[e.Key] = true
	state := t.listening(now)
	if !t.take(state, event, now) {
		return nil, nil
	}
	if !t.all {
		return []Triggered{f.plan.triggered(state, []string{e.Key}, now)}, nil
	}
	waiting := f.gathered[t.part(state)]
	if waiting == nil {
		waiting = &pending{}
		f.gathered[t.part(state)] = waiting
	}
	err = waiting.take(t, e, now)
	for _, g := range waiting.Start {
		all = append(all, f.plan.triggered(g.replay(t, now), g.Keys, now))
	}
	waiting.Start = nil
	return all, err
}

// Listening describes the events that the schedule waits for, as a listening task. There is one entry for each group of events that waits
// for others, and, if there is no such group or an event is given, one for a new group. For an event the entries contain why it would not
// be consumed.
func (f *Forecast) Listening(event map[string]any, now time.Time) (all []interpreter.Listening) {
	t := f.plan.trigger
	if t == nil {
		return nil
	}
	for _, waiting := range f.gathered {
		for n := range waiting.Groups {
			all = append(all, t.described(waiting.Groups[n].replay(t, now), event)...)
		}
	}
	if len(all) == 0 || event != nil {
		all = append(all, t.described(t.listening(now), event)...)
	}
	return all
}

// described returns the events that a state waits for, with pointers of the document.
func (t *trigger) described(s *interpreter.State, event map[string]any) []interpreter.Listening {
	var about any
	if event != nil {
		about = event
	}
	all := interpreter.ListeningTasks(t.program, s, about)
	for n := range all {
		one := &all[n]
		one.Path, one.Pointer, one.Origin = "", onPointer, onPointer
		for i := range one.Missing {
			one.Missing[i] = ofSchedule(one.Missing[i])
		}
		for i := range one.Refusals {
			one.Refusals[i].Filter = ofSchedule(one.Refusals[i].Filter)
		}
	}
	return all
}
