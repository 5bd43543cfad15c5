package interpreter

import (
	"slices"
	"time"
)

// This file decides which parts of a run its fork keeps. A completed task that ran beside the task from which the fork continues does not begin
// again.

// Brancher is a Composite whose children run at the same time.
type Brancher interface {
	Composite
	// Gathers reports whether the task ends when all of its branches are over.
	Gathers() bool
	// Reopen reverts the end of a branch: the number of open branches is then open.
	Reopen(s *Scope, branch, open int)
}

// ForkAt is like Before, but the other branches of the forks around the task are in their later state.
func (r Past) ForkAt(task Path) (*Moment, error) {
	at, err := r.fresh().Before(task)
	if err != nil {
		return nil, err
	}
	for _, branch := range at.branchesAround(task) {
		later, end, err := r.endOf(branch.fork)
		if err != nil {
			return nil, err
		}
		if later == nil || later.Program != at.Program {
			continue // it has migrated since
		}
		at.keepBranches(later, branch)
		if end != nil && branch.gathers() && end.completes(branch.fork.Path) {
			m := &machine{p: at.Program, s: at.State, now: at.At, until: task}
			m.step(end.cause(r.Start))
		}
		at.Kept = append(at.Kept, branch)
	}
	return at, nil
}

// fresh returns the past with a new state, because computing the run again changes the state.
func (r Past) fresh() Past {
	s := NewState(r.New.Namespace, r.New.ID)
	s.Metadata, s.Keys = r.New.Metadata, r.New.Keys
	r.New = s
	return r
}

// ForkBranch is a branch of a fork.
type ForkBranch struct {
	fork *taskFrame
	own  *taskFrame // the task that is the branch
}

// HasBeside reports whether an occurrence of a task is in another branch of the fork.
func (b ForkBranch) HasBeside(task Path) bool {
	return task.IsIn(b.fork.Path) && task != b.own.Path && !task.IsIn(b.own.Path)
}

func (b ForkBranch) gathers() bool {
	brancher, ok := b.fork.node.body.(Brancher)
	return ok && brancher.Gathers()
}

// branchesAround returns the branches of forks in which a task is about to begin, the outermost first.
func (at *Moment) branchesAround(task Path) (all []ForkBranch) {
	m, f := at.State.beginning(at.Program, task)
	if f == nil {
		return nil
	}
	for g := range m.s.selfAndAncestors(f) {
		own, isTask := g.(*taskFrame)
		fork, inTask := m.s.frame(g.common().Parent).(*taskFrame)
		if isTask && inTask { // any other task is in a list
			all = append(all, ForkBranch{fork, own})
		}
	}
	slices.Reverse(all)
	return all
}

// endOf computes a run right before the step in which a fork ended, and returns that step too. If the fork is still in progress, it returns the last
// state and no step.
func (r Past) endOf(fork *taskFrame) (later *Moment, end *HistoryStep, err error) {
	past := r.fresh()
	if n := slices.IndexFunc(r.Steps, func(e HistoryStep) bool { return e.ends(fork.Path) }); n >= 0 {
		past.Steps, end = r.Steps[:n], &r.Steps[n]
	}
	replay := newReplay(past)
	var at time.Time
	for _, e := range past.Steps {
		if replay.notes(e) {
			continue
		}
		if e.State == nil {
			(&machine{p: replay.p, s: replay.s}).repeat(e, r.Start)
		}
		if err := replay.restore(e); err != nil {
			return nil, nil, err
		}
		at = e.At
	}
	if end != nil {
		at = end.At
	}
	(&machine{p: replay.p, s: replay.s}).resolveNodes()
	if same := replay.s.task(fork.ID); same == nil || same.Path != fork.Path {
		return nil, nil, nil
	}
	return &Moment{Program: replay.p, State: replay.s, At: at}, end, nil
}

// ends reports whether an occurrence of a task ended in the step.
func (e HistoryStep) ends(task Path) bool {
	return slices.ContainsFunc(e.Events, func(r HistoryEvent) bool {
		return r.Path == task && (r.Type == TaskCompleted || r.Type == TaskFaulted || r.Type == TaskCancelled)
	})
}

// completes reports whether an occurrence of a task completed in the step.
func (e HistoryStep) completes(task Path) bool {
	return slices.ContainsFunc(e.Events, func(r HistoryEvent) bool { return r.Path == task && r.Type == TaskCompleted })
}

// keepBranches takes the other branches of a fork from a later moment. They keep the time that they had left at that moment.
func (at *Moment) keepBranches(later *Moment, b ForkBranch) {
	s, since := at.State, at.At.Sub(later.At)
	beside := func(of *State, f frame) bool {
		return of.isBelow(f, b.fork.ID) && f.common().ID != b.own.ID && !of.isBelow(f, b.own.ID)
	}
	var kept []frame
	for _, f := range s.frames {
		if !beside(s, f) {
			kept = append(kept, f)
		}
	}
	for _, f := range later.State.frames {
		if !beside(later.State, f) {
			continue
		}
		f.common().move(since)
		if t, ok := f.(*taskFrame); ok {
			t.moveTask(since)
		}
		kept = append(kept, f)
	}
	slices.SortFunc(kept, byID)
	s.frames, s.queued = kept, nil
	for _, f := range kept {
		if f.common().Queued {
			s.queued = append(s.queued, f)
		}
	}
	s.lastFrame, s.lastEffect = max(s.lastFrame, later.State.lastFrame), max(s.lastEffect, later.State.lastEffect)
	b.reopen(at, later)
}

// reopen gives the fork the results of its other branches, and notes that the branch b continues.
func (b ForkBranch) reopen(at, later *Moment) {
	brancher, ok := b.fork.node.body.(Brancher)
	if !ok {
		return
	}
	open := 0
	for f := range at.State.tasks() {
		if f.Parent == b.fork.ID {
			open++
		}
	}
	b.fork.Progress = later.State.task(b.fork.ID).Progress
	m := &machine{p: at.Program, s: at.State, now: at.At}
	m.scope.m = m
	brancher.Reopen(m.bodyScope(b.fork), b.own.Branch, open)
}

// isBelow reports whether a frame is inside of another one.
func (s *State) isBelow(f frame, around FrameID) bool {
	for g := range s.ancestors(f) {
		if g.common().ID == around {
			return true
		}
	}
	return false
}

// moveTask moves the times of a task.
func (f *taskFrame) moveTask(by time.Duration) {
	f.Soft.Move(by)
	f.StartedAt, f.WakeAt = later(f.StartedAt, by), later(f.WakeAt, by)
}

// renewRetries gives all attempts back to all tasks that may run their tasks again.
func (m *machine) renewRetries() {
	for f := range m.s.tasks() {
		r, ok := f.node.body.(Retrier)
		if !ok || !r.Retries() || f.Phase != PhaseBody || !r.Renew(m.bodyScope(f)) {
			continue
		}
		for n, d := range f.Deadlines {
			if d.Kind == DeadlineRetry {
				f.Deadlines[n].StartedAt, f.Deadlines[n].At = m.now, m.now.Add(d.At.Sub(d.StartedAt))
			}
		}
		f.changed()
	}
}
