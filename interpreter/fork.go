package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
)

// This file starts a run that continues from a task of another run. The state of the other run right before the task began is computed again from its
// history.

// ForkPoint is the beginning of a run that continues from a task of another run: Start contains it.
type ForkPoint struct {
	State StoredState // of the other run, right before the task began
	At    time.Time   // the time of that state
	// Timeless drops the deadlines of the whole execution that State contains.
	Timeless bool
	Run      string // the other run, as namespace/id
	Task     Path   // from which the run continues
}

// Past is all that is known about a run.
type Past struct {
	Program *Program // the program with which it started
	// Migrated are the programs with which the run continued, one for each migration in Steps.
	Migrated []*Program
	New      *State // before it started
	Start    Start
	Steps    []HistoryStep
}

// Moment is a run at a moment of its past.
type Moment struct {
	Program *Program
	State   *State
	At      time.Time
	Kept    []ForkBranch // around a task; the other branches are in a later state: see Past.ForkAt
}

// Before computes a run right before an occurrence of a task began. The error explains why the run cannot be computed.
func (r Past) Before(task Path) (*Moment, error) {
	replay := newReplay(r)
	for _, e := range r.Steps {
		if replay.notes(e) {
			continue
		}
		if e.State == nil || e.begins(task) {
			m := &machine{p: replay.p, s: replay.s, until: task}
			m.repeat(e, r.Start)
			if !e.repeats(m.result.History, m.reached) {
				return nil, errNotRepeated
			}
			if m.reached && e.withholds() {
				return nil, errors.New("it began together with the end of a call whose result may hold a secret, which no history keeps: choose the task before it")
			}
			if m.reached {
				return &Moment{Program: replay.p, State: replay.s, At: e.At}, nil
			}
		}
		if err := replay.restore(e); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("its history has no beginning of the task")
}

// repeats reports whether a step led to the same events again, or to the first of them if the step stopped before its end. A run that misses
// something that it needs, such as a secret, would take another way.
func (e HistoryStep) repeats(events []HistoryEvent, stopped bool) bool {
	if len(events) > len(e.Events) || !stopped && len(events) < len(e.Events) {
		return false
	}
	for n, r := range events {
		if r.Type != e.Events[n].Type || r.Path != e.Events[n].Path {
			return false
		}
	}
	return true
}

// begins reports whether an occurrence of a task began in the step.
func (e HistoryStep) begins(task Path) bool {
	for _, r := range e.Events {
		if r.Path == task && (r.Type == TaskStarted || r.Type == TaskSkipped) {
			return true
		}
	}
	return false
}

// withholds reports whether the step lacks the result that led to it.
func (e HistoryStep) withholds() bool {
	if e.State == nil {
		return false
	}
	for _, r := range e.Events {
		if r.Type == EffectFinished && r.Data == nil && r.Error == nil {
			return true
		}
	}
	return false
}

// stopsBefore reports whether f is about to begin the task before which the step stops. f then stays queued.
func (m *machine) stopsBefore(f frame) bool {
	if m.until == "" {
		return false
	}
	next := f.common().Path
	if list, ok := f.(*listFrame); ok {
		all := m.listOf(list).tasks
		if list.At >= len(all) {
			return false
		}
		next = list.pathOf(all[list.At])
	}
	if next != m.until {
		return false
	}
	m.reached = true
	m.s.queue(f)
	return true
}

// EditInput replaces the raw input of the task that a state of Past.Before is about to begin.
func (s *State) EditInput(p *Program, task Path, input any) {
	_, f := s.beginning(p, task)
	switch f := f.(type) {
	case *listFrame:
		f.Data = input
	case *taskFrame:
		f.Raw = input
	}
}

// EditContext replaces $context for the task that a state of Past.Before is about to begin: the $context of its branch, if the task is in a branch.
func (s *State) EditContext(p *Program, task Path, context any) {
	if m, f := s.beginning(p, task); f != nil {
		*m.context(f) = context
	}
}

// beginning returns the frame that is about to begin a task: the frame of its list, or its own frame if the task is a branch; nil if there is no such
// frame.
func (s *State) beginning(p *Program, task Path) (*machine, frame) {
	m := &machine{p: p, s: s}
	m.resolveNodes()
	for _, f := range s.frames {
		switch f := f.(type) {
		case *listFrame:
			if all := m.listOf(f).tasks; f.Queued && f.At < len(all) && f.pathOf(all[f.At]) == task {
				return m, f
			}
		case *taskFrame:
			if f.Queued && f.Path == task {
				return m, f
			}
		}
	}
	return m, nil
}

// startFork starts the run from the state of another run. All of its times move to the present, so that scopes have the same time left.
func (m *machine) startFork(ev Start) {
	s := m.s
	forked, err := Restore(m.p, NewState(s.Namespace, s.ID), ev.Input, ev.Fork.State)
	if err != nil {
		m.fault(errors.Runtimef("the state that the run was forked with cannot be read: %s", err).At("/"))
		return
	}
	moved := s.StartedAt.Sub(ev.Fork.At)
	s.Input, s.Context, s.Transformed, s.contextChanged = forked.Input, forked.Context, forked.Transformed, true
	s.Continued = forked.Continued
	s.lastFrame, s.lastEffect, s.frames = forked.lastFrame, forked.lastEffect, forked.frames
	s.Soft = forked.Soft
	s.Soft.Move(moved)
	s.Deadlines = slices.Clone(ev.Deadlines)
	if !ev.TimeoutReplaced && !ev.Fork.Timeless {
		s.Deadlines = append(s.Deadlines, inherited(forked.Deadlines, moved)...)
	}
	for _, f := range s.frames {
		f.common().move(moved)
	}
	m.workflowValue = nil
	m.record(HistoryEvent{Type: WorkflowStarted, Data: s.Input, Deadlines: s.Deadlines, Attempt: ev.attempt()})
	m.record(HistoryEvent{Type: WorkflowForked, Run: ev.Fork.Run, Data: string(ev.Fork.Task)})
	m.resolveNodes()
	m.s.queued = nil
	m.renewRetries()
	for _, f := range slices.Clone(s.frames) {
		if s.frame(f.common().ID) == f { // an earlier frame may have ended it
			m.continueForked(f, moved)
		}
	}
	if err := m.listenAgain(); err != nil {
		m.fault(err)
	}
}

// continueForked continues a frame of a forked run: effects that were in flight in the other run start in this run too.
func (m *machine) continueForked(f frame, moved time.Duration) {
	if f.common().Queued {
		m.s.queued = append(m.s.queued, f)
	}
	task, ok := f.(*taskFrame)
	if !ok {
		return
	}
	task.moveTask(moved)
	if task.Effect != nil {
		task.Effect = nil
		m.next(task, task.node.body.Enter(m.bodyScope(task)))
	}
}

// inherited returns the deadlines that a forked run takes over. Deadlines that were given as points in time stay, and the others move. The deadline
// of a parent is dropped, and so is the run deadline, because a new run gets its own.
func inherited(all []Deadline, moved time.Duration) (kept []Deadline) {
	for _, d := range all {
		switch {
		case d.Inherited, d.Kind == DeadlineRun:
			continue
		case !d.Fixed:
			d.At, d.StartedAt = later(d.At, moved), later(d.StartedAt, moved)
		}
		kept = append(kept, d)
	}
	return kept
}

// move moves the deadlines of a scope, and marks the frame to be stored as a new frame.
func (f *commonFrame) move(by time.Duration) {
	f.key, f.touched = 0, true
	for n, d := range f.Deadlines {
		f.Deadlines[n].At, f.Deadlines[n].StartedAt = later(d.At, by), later(d.StartedAt, by)
	}
}

// Move moves the soft deadline, if there is one.
func (d *SoftDeadline) Move(by time.Duration) { d.At = later(d.At, by) }

// later returns t plus by; zero stays zero.
func later(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}
