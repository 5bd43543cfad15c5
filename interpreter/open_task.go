package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
)

// OpenTask is an innermost task in progress: one of the present places of a run.
type OpenTask struct {
	Kind      dsl.Kind
	Route     Route       // of its effects
	Pointer   dsl.Pointer // as errors show it
	Origin    dsl.Pointer // place in the document
	Path      Path
	StartedAt time.Time
	Effect    EffectID   // that it waits for; 0 for none
	Attempt   int        // of the effect
	Run       string     // that the effect has started, as namespace/id; empty for none
	Deferred  bool       // the effect did not begin: see State.DeferEffect
	Needs     []string   // requirements on the performer of the effect: see Builder.Needs and State.LeaveEffect
	Lacks     string     // the need that a driver lacked when it was to perform the effect; empty if no driver tried
	Until     time.Time  // when its wait ends; zero if it does not wait for time
	Retry     bool       // the wait is for the next attempt of a try
	Ready     bool       // it can continue immediately
	Listening *Listening // for events; nil if it does not listen
}

// OpenTasks returns the innermost tasks in progress, in the order in which they were started.
func OpenTasks(p *Program, s *State) []OpenTask {
	m := &machine{p: p, s: s}
	m.scope.m = m
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
			Kind: f.node.kind.Kind, Route: f.node.kind.Route, Pointer: f.pointer(), Origin: f.Origin, Path: f.Path, StartedAt: f.StartedAt,
			Until: f.wakesAt(), Retry: !f.WakeAt.IsZero() && isComposite(f), Ready: f.Queued || ready[f.ID],
		}
		if f.Effect != nil {
			o.Effect, o.Attempt, o.Deferred, o.Run = f.Effect.ID, f.Effect.Attempt, f.Effect.Deferred, f.Effect.Run
			if o.Needs = m.needs(f); f.Effect.Lacks != "" {
				o.Needs, o.Lacks = append(slices.Clone(o.Needs), f.Effect.Lacks), f.Effect.Lacks
			}
		}
		if f.Listens != nil {
			one := m.listening(f)
			o.Listening = &one
		}
		all = append(all, o)
	}
	return all
}
