package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// OpenTask is a task in progress in which no other task is: one of the places where a run stands.
type OpenTask struct {
	Kind      dsl.Kind
	Pointer   dsl.Pointer // as errors show it
	Origin    dsl.Pointer // where it stands in the document
	Path      Path
	StartedAt time.Time
	Effect    EffectID  // that it waits for; 0 for none
	Attempt   int       // of the effect
	Deferred  bool      // the effect has not begun: see State.DeferEffect
	Until     time.Time // when its wait ends; zero if it does not wait for time
	Retry     bool      // the wait is for the next attempt of a try
	Ready     bool      // it can go on at once
}

// OpenTasks returns where a run stands, in the order in which the tasks were started.
func OpenTasks(p *Program, s *State) []OpenTask {
	m := &machine{p: p, s: s}
	m.resolveNodes()
	parents := map[FrameID]bool{}
	ready := map[FrameID]bool{}
	for _, f := range s.frames {
		switch f := f.(type) {
		case *taskFrame:
			for g := range s.ancestors(f) {
				parents[g.common().ID] = true
			}
		case *listFrame:
			ready[f.Parent] = ready[f.Parent] || f.Queued
		}
	}
	var all []OpenTask
	for f := range s.tasks() {
		if parents[f.ID] {
			continue
		}
		o := OpenTask{
			Kind: f.node.kind.Kind, Pointer: f.pointer(), Origin: f.Origin, Path: f.Path, StartedAt: f.StartedAt,
			Until: f.WakeAt, Retry: !f.WakeAt.IsZero() && isComposite(f), Ready: f.Queued || ready[f.ID],
		}
		if f.Effect != nil {
			o.Effect, o.Attempt, o.Deferred = f.Effect.ID, f.Effect.Attempt, f.Effect.Deferred
		}
		all = append(all, o)
	}
	return all
}

// ActiveDeadline is a deadline of a scope that is open.
type ActiveDeadline struct {
	Deadline
	Pointer dsl.Pointer // of the scope as errors show it; empty for the workflow
	Origin  dsl.Pointer // where it stands in the document
	EndsRun bool        // its passing ends the run, whatever expressions say: see LatestEnd
}

// Error returns the timeout error that the passing of d would be.
func (d ActiveDeadline) Error() *errors.Error { return d.Deadline.error(d.Pointer, nil) }

// ActiveDeadlines returns every deadline in force, the first to pass first; of two at the same time the outer one.
func ActiveDeadlines(p *Program, s *State) []ActiveDeadline {
	if s.Status.Final() {
		return nil
	}
	m := &machine{p: p, s: s}
	m.resolveNodes()
	var all []ActiveDeadline
	for _, d := range s.Deadlines {
		all = append(all, ActiveDeadline{Deadline: d, EndsRun: true})
	}
	for _, f := range s.frames {
		c := f.common()
		for _, d := range c.Deadlines {
			all = append(all, ActiveDeadline{Deadline: d, Pointer: c.pointer(), Origin: c.Origin, EndsRun: m.endsRun(f, d)})
		}
	}
	slices.SortStableFunc(all, func(a, b ActiveDeadline) int { return a.At.Compare(b.At) })
	return all
}
