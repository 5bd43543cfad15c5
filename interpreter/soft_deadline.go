package interpreter

import (
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

// passes notes that the soft deadline has passed, and reports whether this was not noted before.
func (d *SoftDeadline) passes(now time.Time) bool {
	if d.Late || d.At.IsZero() || now.Before(d.At) {
		return false
	}
	d.Late = true
	return true
}

// noteLate marks the scopes whose soft deadline has passed.
func (m *machine) noteLate() {
	if m.s.Status != StatusRunning {
		return
	}
	if m.s.Soft.passes(m.now) {
		m.s.headChanged = true
		m.record(HistoryEvent{Type: WorkflowLate, Until: m.s.Soft.At})
	}
	for f := range m.s.tasks() {
		if f.Soft.passes(m.now) {
			f.changed()
			m.record(f.event(HistoryEvent{Type: TaskLate, Until: f.Soft.At}))
		}
	}
}

// ActiveSoftDeadline is the soft deadline of a scope in progress.
type ActiveSoftDeadline struct {
	SoftDeadline
	Pointer dsl.Pointer // of the scope as errors show it; empty for the workflow
	Origin  dsl.Pointer // place in the document
}

// SoftDeadlines returns the soft deadlines of a run in progress, of outer scopes first.
func SoftDeadlines(p *Program, s *State) (all []ActiveSoftDeadline) {
	if s.Status.Final() {
		return nil
	}
	m := &machine{p: p, s: s}
	m.resolveNodes()
	if !s.Soft.At.IsZero() {
		all = append(all, ActiveSoftDeadline{SoftDeadline: s.Soft})
	}
	for f := range s.tasks() {
		if !f.Soft.At.IsZero() {
			all = append(all, ActiveSoftDeadline{f.Soft, f.pointer(), f.Origin})
		}
	}
	return all
}
