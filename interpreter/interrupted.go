package interpreter

import (
	"encoding/json"

	"github.com/swrun/swrun/errors"
)

// Interruption is an effect that was in flight when a driver lost the run.
type Interruption struct {
	Effect Effect
	// Deferred reports that the effect has never begun: see State.DeferEffect.
	Deferred bool
	// Error explains why the effect cannot be performed again. Its task then fails with this error. It is nil otherwise.
	Error *errors.Error
}

// Interrupted returns the effects that tasks of s wait for, in the order in which they were started, each as its next attempt. A driver that takes
// over a run performs them again. It does not perform child runs and activities, which continue without it, and effects that must not be repeated.
//
// stillRunning reports whether this driver still performs an effect, or has not passed its result to Step yet. Such an effect gets no new attempt.
func Interrupted(p *Program, s *State, stillRunning func(EffectID) bool) []Interruption {
	m := &machine{p: p, s: s}
	m.scope.m = m
	m.resolveNodes()
	var all []Interruption
	for f := range s.tasks() {
		if f.Effect == nil {
			continue
		}
		if again := !f.Effect.AtMostOnce && !f.Effect.Deferred && !stillRunning(f.Effect.ID) && f.node.kind.Route == RoutePerform; again {
			f.Effect.Attempt = max(f.Effect.Attempt+1, m.countRequest(f, 0))
			f.changed()
		}
		i := Interruption{Effect: Effect{ID: f.Effect.ID, Kind: f.node.kind.Kind, Route: f.node.kind.Route, AtMostOnce: f.Effect.AtMostOnce, Waits: f.Effect.Waits, Needs: m.needs(f)}, Deferred: f.Effect.Deferred}
		body := f.Effect.Request
		activity := i.Effect.Route == RouteActivity && stillRunning(f.Effect.ID) // its request is stored elsewhere
		if body == nil && !activity && (!f.Effect.AtMostOnce || f.Effect.Deferred) {
			body, i.Error = m.recomputeRequest(f)
		}
		i.Effect.Request = m.newRequest(f, body, f.Effect.Attempt)
		i.Effect.Request.ReadsSecret = f.Effect.Request == nil && !activity // it is not stored in that case
		all = append(all, i)
	}
	return all
}

// Children returns the effects that child runs perform, in their requested form: the effects that tasks of s wait for, and the effects of children
// that end with the run. The request of the latter contains only the deadline.
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
			body, _ = m.recomputeRequest(f) // on an error the body stays empty: the child remains unknown
		}
		all = append(all, Effect{ID: f.Effect.ID, Kind: f.node.kind.Kind, Route: RouteChild, Request: m.newRequest(f, body, f.Effect.Attempt)})
	}
	for _, b := range s.beside {
		all = append(all, Effect{ID: b.Effect, Route: RouteChild, Detached: true, Request: Request{Deadline: b.Deadline}})
	}
	return all
}

// recomputeRequest computes a request that was not stored because it contains a secret, from the same input and with the same time.
func (m *machine) recomputeRequest(f *taskFrame) ([]byte, *errors.Error) {
	if err := m.requireSecrets(f.node); err != nil { // this owner may have other secrets
		return nil, err.At(f.pointer().Instance())
	}
	m.now = f.Effect.StartedAt
	n := f.node.body.Enter(m.bodyScope(f))
	if n.kind != nextPerform {
		if n.err != nil {
			return nil, n.err.At(f.pointer().Instance())
		}
		return nil, errors.Runtimef("the request cannot be computed again").At(f.pointer().Instance())
	}
	body, err := json.Marshal(n.value)
	if err != nil {
		return nil, errors.Runtimef("the request cannot be written as JSON: %s", err).At(f.pointer().Instance())
	}
	return body, nil
}
