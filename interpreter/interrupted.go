package interpreter

import (
	"encoding/json"

	"github.com/swrun/swrun/errors"
)

// Interruption is an effect that was in flight when a driver lost the run.
type Interruption struct {
	Effect Effect
	// Deferred says that it has never begun: see State.DeferEffect.
	Deferred bool
	// Error is why it cannot be performed again; its task then fails with it. Nil otherwise.
	Error *errors.Error
}

// Interrupted returns the effects that tasks of s wait for, in the order in which they were started, each as its next
// attempt. A driver that takes over a run performs them again, but for those that are in other hands: a child
// workflow, an effect that must not be repeated.
//
// What goes on here, or has ended and is not stepped yet, is no new attempt: goesOn tells.
func Interrupted(p *Program, s *State, goesOn func(EffectID) bool) []Interruption {
	m := &machine{p: p, s: s}
	m.scope.m = m
	m.resolveNodes()
	var all []Interruption
	for f := range s.tasks() {
		if f.Effect == nil {
			continue
		}
		if again := !f.Effect.AtMostOnce && !f.Effect.Deferred && !goesOn(f.Effect.ID) && f.node.kind.Route == RoutePerform; again {
			f.Effect.Attempt++
			f.changed()
		}
		i := Interruption{Effect: Effect{ID: f.Effect.ID, Kind: f.node.kind.Kind, Route: f.node.kind.Route, AtMostOnce: f.Effect.AtMostOnce}, Deferred: f.Effect.Deferred}
		body := f.Effect.Request
		if body == nil && (!f.Effect.AtMostOnce || f.Effect.Deferred) {
			body, i.Error = m.requestAgain(f)
		}
		i.Effect.Request = m.newRequest(f, body, f.Effect.Attempt)
		i.Effect.Request.ReadsSecret = f.Effect.Request == nil // then it is not stored
		all = append(all, i)
	}
	return all
}

// Children returns the effects that tasks of s wait for and other instances perform, as they were wanted.
func Children(p *Program, s *State) []Effect {
	m := &machine{p: p, s: s}
	m.scope.m = m
	m.resolveNodes()
	var all []Effect
	for f := range s.tasks() {
		if f.Effect == nil || f.node.kind.Route != RouteChild {
			continue
		}
		body := f.Effect.Request
		if body == nil {
			body, _ = m.requestAgain(f) // without it nobody can tell which child it is
		}
		all = append(all, Effect{ID: f.Effect.ID, Kind: f.node.kind.Kind, Route: RouteChild, Request: m.newRequest(f, body, f.Effect.Attempt)})
	}
	return all
}

// requestAgain makes a request that was not stored because it holds a secret, from the same input at the same time.
func (m *machine) requestAgain(f *taskFrame) ([]byte, *errors.Error) {
	if err := m.requireSecrets(f.node); err != nil { // this owner may have other secrets
		return nil, err.At(f.pointer().Instance())
	}
	m.now = f.Effect.StartedAt
	n := f.node.body.Enter(m.bodyScope(f))
	if n.kind != nextPerform {
		if n.err != nil {
			return nil, n.err.At(f.pointer().Instance())
		}
		return nil, errors.Runtimef("the request cannot be made again").At(f.pointer().Instance())
	}
	body, err := json.Marshal(n.value)
	if err != nil {
		return nil, errors.Runtimef("the request cannot be written as JSON: %s", err).At(f.pointer().Instance())
	}
	return body, nil
}
