package interpreter

import (
	"encoding/json"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
)

// Route specifies which part of swrun carries out the effects of a task. Code that has to tell effects apart looks at the route, and not at the kind
// of the task.
type Route string

// The routes.
const (
	RoutePerform Route = ""        // a performer of the run's owner
	RouteChild   Route = "child"   // another run; the request is a ChildRequest
	RoutePublish Route = "publish" // the publisher of events; each event is published after the events that were emitted before it
	// RouteActivity: an outside worker fetches and performs the effect; the request is an ActivityRequest.
	RouteActivity Route = "activity"
	// RouteDefinition: the effect asks for the definition of a version of the workflow; the request is a DefinitionRequest.
	RouteDefinition Route = "definition"
)

// ErrUnwanted is the reason for the cancellation of an effect whose task is over or no longer waits for the effect.
var ErrUnwanted = errors.New("the task is over")

// Effect is something that has to happen outside.
type Effect struct {
	ID         EffectID
	Kind       dsl.Kind
	Route      Route
	Detached   bool // no task waits for it
	AtMostOnce bool // never to be performed twice: its start has to be stored first
	Waits      bool // it only waits for data of others: see Next.Waiting
	// Needs are the requirements on the performer: see Builder.Needs.
	Needs   []string
	Request Request
}

// TimeoutError is the error of a performer if a timeout of the effect itself ended it. Such a timeout is part of the request, and not of the task.
type TimeoutError struct {
	Kind string // one of TimeoutKinds
	Err  *errors.Error
}

func (e *TimeoutError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the task.
func (e *TimeoutError) Unwrap() error { return e.Err }

// EndOf returns the end of an effect whose performer returned a result or an error. An error that no workflow can catch is left out.
func EndOf(id EffectID, result any, err error) Finished {
	end := Finished{Effect: id, Result: result, Error: errors.AsError(err)}
	var late *TimeoutError
	if errors.As(err, &late) {
		end.Attempt.Timeout = late.Kind
		end.Error = end.Error.With(MemberTimeoutKind, late.Kind)
	}
	return end
}

func (m *machine) effectFinished(ev Finished) {
	f := m.s.taskAwaiting(ev.Effect)
	if f == nil && m.besideEnded(ev.Effect) {
		return
	}
	if f == nil {
		m.record(ReportedLate{Effect: ev.Effect, Attempt: ev.Attempt, Pointer: ev.Pointer}.HistoryEvent()) // without the result, which may repeat a secret
		return
	}
	m.findSuccessor(f, &ev)
	if err := m.checkSize(limits.Data, ev.Result); err != nil {
		ev.Result, ev.Error = nil, err
	}
	result := m.s.redact.EscapeReferences(ev.Result)
	r := HistoryEvent{
		Type: EffectFinished, Effect: ev.Effect, Attempt: f.Effect.Attempt, Data: result, Error: ev.Error,
		Worker: ev.Attempt.Worker, StartedAt: ev.Attempt.StartedAt, Timeout: ev.Attempt.Timeout,
	}
	if f.Effect.Confidential || m.s.redact.ContainsSecret(result) {
		r.Data, m.result.Withheld = nil, true
	}
	m.record(f.event(r))
	f.Effect = nil
	if f.node.kind.Route != RouteDefinition { // which does not count as waiting: a loop of runs would never end
		m.s.Unwaited = 0
	}
	f.changed()
	if ev.Error != nil {
		err := ev.Error.At(f.pointer().Instance())
		if ev.Attempt.Timeout != "" {
			m.expired, m.expiredKind = err, ev.Attempt.Timeout
		}
		m.fail(f, err)
		return
	}
	m.next(f, f.node.body.(Leaf).Finish(m.bodyScope(f), result))
}

// startEffect starts an effect for f.
func (m *machine) startEffect(f *taskFrame, n Next) {
	body, err := json.Marshal(n.value)
	if err != nil {
		m.fail(f, errors.Runtimef("the request cannot be written as JSON: %s", err))
		return
	}
	confidential, refused := m.checkRequest(f, n, body)
	if refused != nil {
		m.fail(f, refused)
		return
	}
	m.s.lastEffect++
	m.s.headChanged = true
	m.recordedBytes += len(body)
	attempt := 1
	if f.node.kind.Route == RoutePerform {
		attempt = m.countRequest(f, m.lostOwners)
	}
	effect := Effect{ID: m.s.lastEffect, Kind: f.node.kind.Kind, Route: f.node.kind.Route, Detached: n.detach, AtMostOnce: f.node.atMostOnce, Waits: n.waits, Needs: m.needs(f), Request: m.newRequest(f, body, attempt)}
	effect.Request.ReadsSecret, effect.Request.Prepared = m.scope.readsSecret, n.value
	child := m.child(f, n)
	m.list(&effect, n, child)
	m.result.Effects = append(m.result.Effects, effect)
	m.recordEffect(f.event(HistoryEvent{Type: EffectStarted, Effect: effect.ID, Attempt: attempt, Run: child}), n)
	if n.detach {
		m.complete(f, n.output, nil)
		return
	}
	f.Effect = &InFlight{ID: effect.ID, StartedAt: m.now, Attempt: attempt, AtMostOnce: f.node.atMostOnce, Waits: n.waits, Request: body, Run: child, Until: n.until}
	f.Effect.Confidential = m.scope.confidential || confidential
	if m.scope.readsSecret || f.node.kind.Route == RouteActivity { // its driver stores it elsewhere
		f.Effect.Request = nil
	}
	f.changed()
}

// recordEffect records that an effect has started. An emitted event is recorded in the form that listeners get. An event that contains a secret was
// refused before (checkConfidential).
func (m *machine) recordEffect(e HistoryEvent, n Next) {
	if r, ok := n.value.(ActivityRequest); ok {
		e.Activity = &r.ActivityTerms
	}
	m.record(e)
	if e.Route == RoutePublish {
		m.result.History[len(m.result.History)-1].Data = n.value
	}
}

// child returns the run that a task starts, as namespace/id; empty if the task starts no run.
func (m *machine) child(f *taskFrame, n Next) string {
	if r, ok := n.value.(ChildRequest); ok {
		return r.Namespace + "/" + ChildID(m.s.Namespace, m.s.ID, f.Path)
	}
	return ""
}

func (m *machine) newRequest(f *taskFrame, body []byte, attempt int) Request {
	return Request{
		Body: body, Instance: m.s.ID, Pointer: f.pointer(), Path: f.Path, Key: m.s.key(f.Path), Attempt: attempt,
		Deadline: m.nextDeadline(f),
	}
}

// nextDeadline returns the earliest deadline of f and of the scopes around it.
func (m *machine) nextDeadline(f *taskFrame) time.Time {
	first := Earlier(earliest(m.s.Deadlines), earliest(f.Deadlines))
	for around := m.s.frame(f.Parent); around != nil; around = m.s.frame(around.common().Parent) {
		first = Earlier(first, earliest(around.common().Deadlines))
	}
	return first
}
