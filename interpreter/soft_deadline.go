package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
)

// SoftDeadline is the time from which a scope in progress counts as late. The scope continues. The history gets an event, and the scope gets a mark.
type SoftDeadline struct {
	At   time.Time // zero for none
	Late bool      // it has passed
}

func (d *SoftDeadline) stored(o *object) {
	o.instant("sd", &d.At)
	o.flag("sl", &d.Late)
}

// arm sets the soft deadline of a scope that begins; after is nil if the scope has no soft deadline.
func (d *SoftDeadline) arm(after *dsl.Duration, from time.Time) {
	if after != nil {
		d.At = after.AddTo(from)
	}
}

// next returns the time at which the scope becomes late; zero for never.
func (d *SoftDeadline) next() time.Time {
	if d.Late {
		return time.Time{}
	}
	return d.At
}

// softScope is a scope with a soft deadline that has not passed yet: the run, or a task.
type softScope struct {
	task *taskFrame // nil for the run
	soft *SoftDeadline
}

// notLate returns the scopes whose soft deadline was not noted, of outer scopes first.
func (m *machine) notLate() (all []softScope) {
	if !m.s.Soft.next().IsZero() {
		all = append(all, softScope{nil, &m.s.Soft})
	}
	for f := range m.s.tasks() {
		if !f.Soft.next().IsZero() {
			all = append(all, softScope{f, &f.Soft})
		}
	}
	return all
}

// noteLate marks the scopes whose soft deadline has passed.
func (m *machine) noteLate() {
	m.noteLateIf(func(s softScope) bool { return !m.present().Before(s.soft.At) })
}

// noteLateBefore marks the scopes whose soft deadline passed before end, a deadline that is about to end scopes. Both may have passed since the step
// before.
func (m *machine) noteLateBefore(end time.Time) {
	m.noteLateIf(func(s softScope) bool { return s.soft.At.Before(end) && !m.endsBeforeLate(s) })
}

// noteLateIf marks the scopes that are late, in the order of their soft deadlines.
func (m *machine) noteLateIf(late func(softScope) bool) {
	if m.s.Status != StatusRunning {
		return
	}
	if m.recorded != nil {
		m.noteLateAgain()
		return
	}
	all := slices.DeleteFunc(m.notLate(), func(s softScope) bool { return !late(s) })
	slices.SortStableFunc(all, func(a, b softScope) int { return a.soft.At.Compare(b.soft.At) })
	for _, s := range all {
		m.becomesLate(s)
	}
}

// noteLateAgain marks the scopes that a recorded step marked at this point. Steps of older histories noted less, and in another order.
func (m *machine) noteLateAgain() {
	for n := len(m.result.History); n < len(m.recorded); n++ {
		r, all := m.recorded[n], m.notLate()
		at := slices.IndexFunc(all, func(s softScope) bool { return s.isOf(r) })
		if at < 0 {
			return
		}
		m.becomesLate(all[at])
	}
}

// isOf reports whether an event is the one that notes the scope as late.
func (s softScope) isOf(r HistoryEvent) bool {
	if s.task == nil {
		return r.Type == WorkflowLate
	}
	return r.Type == TaskLate && r.Path == s.task.Path
}

func (m *machine) becomesLate(s softScope) {
	s.soft.Late = true
	e := HistoryEvent{Type: WorkflowLate, Until: s.soft.At}
	if s.task != nil {
		s.task.changed()
		e.Type = TaskLate
		e = s.task.event(e)
	}
	m.record(e) // it also marks the head of the run as changed
}

// endsBeforeLate reports whether a deadline ends the scope before the scope can become late.
func (m *machine) endsBeforeLate(s softScope) bool {
	end := m.endOf(s).At
	return !end.IsZero() && !end.After(s.soft.At)
}

// endOf returns the first deadline that ends a scope: zero for none. A deadline ends each scope inside the innermost try that may catch its timeout.
func (m *machine) endOf(s softScope) (first ScopeEnd) {
	for f, d := range m.s.deadlines() {
		if Earlier(first.At, d.At) == first.At {
			continue
		}
		var catcher *taskFrame
		if f != nil {
			catcher = m.catcher(f, d)
		}
		if catcher == nil || s.task != nil && m.s.isBelow(s.task, catcher.ID) {
			first = ScopeEnd{At: d.At, EndsRun: catcher == nil}
		}
	}
	return first
}

// ScopeEnd is the time at which a deadline ends a scope.
type ScopeEnd struct {
	At      time.Time // zero for none
	EndsRun bool
}

// ActiveSoftDeadline is the soft deadline of a scope in progress.
type ActiveSoftDeadline struct {
	SoftDeadline
	Pointer dsl.Pointer // of the scope as errors show it; empty for the workflow
	Origin  dsl.Pointer // place in the document
	End     ScopeEnd    // of the scope
}

// SoftDeadlines returns the soft deadlines of a run in progress, of outer scopes first. Soft deadlines that cannot pass, because a deadline ends their
// scopes before, are left out.
func SoftDeadlines(p *Program, s *State) (all []ActiveSoftDeadline) {
	if s.Status.Final() {
		return nil
	}
	m := &machine{p: p, s: s}
	m.resolveNodes()
	add := func(scope softScope, active ActiveSoftDeadline) {
		if !active.At.IsZero() && (active.Late || !m.endsBeforeLate(scope)) {
			active.End = m.endOf(scope)
			all = append(all, active)
		}
	}
	add(softScope{nil, &s.Soft}, ActiveSoftDeadline{SoftDeadline: s.Soft})
	for f := range s.tasks() {
		add(softScope{f, &f.Soft}, ActiveSoftDeadline{SoftDeadline: f.Soft, Pointer: f.pointer(), Origin: f.Origin})
	}
	return all
}
