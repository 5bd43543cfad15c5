package interpreter

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/limits"
)

// Event is something that happened to a run: one of Start, Finished, Due, Cancel, Suspend, Resume, Abort.
type Event interface{ event() }

// Start begins the run with its raw input.
type Start struct {
	Input any
	// Deadlines are the run's own besides the document's timeout.
	Deadlines []Deadline
	// TimeoutReplaced leaves the document's timeout out, because one of Deadlines replaces it.
	TimeoutReplaced bool
	// StartedAt is when the run began, if that was before the step; zero otherwise. A run that began after one of its
	// Deadlines never starts.
	StartedAt time.Time
	// TimeoutFrom is when the document's timeout begins to count; zero for when the run begins.
	TimeoutFrom time.Time
	// Depth is how many runs are above this one: see State.Depth.
	Depth int
}

// Finished says that an effect has ended with a result or an error.
type Finished struct {
	Effect EffectID
	Result any
	Error  *errors.Error // nil if it ended well
}

// Due says that time has passed, or that a step left work to do. It may come at any time, also too early.
type Due struct{}

// Cancel ends the run from outside.
type Cancel struct {
	Reason string
}

// Suspend keeps tasks from starting until Resume; what is in progress goes on, and deadlines hold.
type Suspend struct {
	Reason string
}

// Resume ends a suspension: what would have started meanwhile starts now.
type Resume struct {
	Reason string
}

// Abort ends the run with an error from outside, which nothing in it can catch: a limit of its host is reached.
type Abort struct {
	Error *errors.Error
}

func (Start) event()    {}
func (Finished) event() {}
func (Due) event()      {}
func (Cancel) event()   {}
func (Suspend) event()  {}
func (Resume) event()   {}
func (Abort) event()    {}

// Route says who carries out an effect.
type Route uint8

// The routes.
const (
	RoutePerform Route = iota // a performer of the run's owner performs it
	RouteChild                // another run does: the request is a ChildRequest
	RoutePublish              // it is an event, which goes out after those that were emitted before it
)

// Effect is something that has to happen outside.
type Effect struct {
	ID         EffectID
	Kind       dsl.Kind
	Route      Route
	Detached   bool // nobody waits for it
	AtMostOnce bool // never to be performed twice: its start has to be stored first
	Request    Request
}

// Result is what a step asks its driver to do.
type Result struct {
	Effects []Effect       // to perform, in order
	Cancels []EffectID     // effects in flight whose result is no longer needed
	History []HistoryEvent // what happened, in order
	// Again says that the step stopped at its limit of work: call Step with Due at once.
	Again bool
	// Withheld says that the history leaves out the result of an effect, because it may repeat a secret. The step cannot be
	// replayed from its history then, so that the whole state has to be stored with it.
	Withheld bool
	// TasksStarted is the number of tasks that the step started.
	TasksStarted int
}

// stepLimit is how many tasks one step may start, so that a deadline or a cancel is noticed in a loop that never
// waits, and the history of a step stays small.
const stepLimit = 1000

// stepBytes is how many bytes of history events and requests a step may produce. It starts no more tasks after that, so that
// its driver does not have to hold or store much more at once.
const stepBytes = 4 << 20

// workLimit is how much work of expressions and schemas a step may do, for the same reason, in units of about a microsecond.
// Work is counted and not measured, so that a step ends at the same task on every machine.
const workLimit = 250_000

// Step advances the run as far as it can go without the outside. It is deterministic: the same program, state, event
// and time always give the same result. It changes s in place; a driver that cannot keep the outcome drops s.
//
// An event that comes too late, for an effect that no task waits for or a run that has ended, changes nothing but the
// history.
func Step(p *Program, s *State, ev Event, now time.Time) Result {
	m := &machine{p: p, s: s, now: now}
	m.scope.m, s.redact = m, p.redactions()
	m.resolveNodes()
	if start, ok := ev.(Start); ok && s.Status == StatusPending {
		m.start(start)
	} else if s.Status.Final() || s.Status == StatusPending || m.expire() {
		m.handle(ev)
		m.wake()
	}
	m.run()
	return m.result
}

// machine is one step in progress.
type machine struct {
	p      *Program
	s      *State
	now    time.Time
	scope  Scope
	result Result

	recordedBytes int // bytes of the step's history events and requests so far

	workflowValue map[string]any // $workflow, once it is used
	cause         *errors.Error  // why tasks are cancelled just now; nil if it is no error
	work          int            // units of work so far
	expired       *errors.Error  // the timeout error of the deadline that has passed, as it is being passed on
	expiredKind   string         // of that deadline
}

// limitReached reports whether the step may start no more tasks.
func (m *machine) limitReached() bool {
	return m.result.TasksStarted >= stepLimit || m.work >= workLimit || m.recordedBytes >= stepBytes
}

// resolveNodes finds the task that each frame belongs to, after the state was decoded.
func (m *machine) resolveNodes() {
	for _, f := range m.s.frames {
		if c := f.common(); c.node == nil {
			c.node = m.nodeOf(f)
			if c.Queued {
				m.s.queued = append(m.s.queued, f)
			}
		}
	}
}

// nodeOf finds the task of a frame among those of its parent, which was resolved before it.
func (m *machine) nodeOf(f frame) *node {
	c := f.common()
	parent := m.s.frame(c.Parent)
	if parent == nil {
		return workflowNode
	}
	if _, ok := f.(*listFrame); ok {
		return parent.common().node
	}
	if list, ok := parent.(*listFrame); ok {
		return m.listOf(list).task(c.Origin)
	}
	for _, branches := range parent.common().node.lists {
		if n := branches.find(c.Origin); n != nil {
			return n
		}
	}
	panic(otherDefinition(c.Origin))
}

// workflowNode stands for the workflow where a frame needs a task: the owner of the workflow's own list.
var workflowNode = &node{}

func (m *machine) start(ev Start) {
	s, input := m.s, m.s.redact.EscapeReferences(ev.Input)
	ev.Input = input
	s.Status, s.Input, s.Depth, s.headChanged = StatusRunning, input, ev.Depth, true
	invalid := m.armWorkflow(ev)
	if at := firstPassed(s.Deadlines, s.StartedAt); at >= 0 && s.Deadlines[at].StartedAt.Before(s.StartedAt) {
		s.StartedAt, s.Deadlines = time.Time{}, s.Deadlines[at:at+1]
		m.expire()
		return
	}
	if err := m.checkSize(limits.Input, input); err != nil {
		input, invalid = nil, err // what is too large to work with is too large for the history
	}
	m.record(HistoryEvent{Type: WorkflowStarted, Data: input, Deadlines: s.Deadlines})
	if invalid != nil {
		m.fault(invalid.At("/"))
		return
	}
	if !m.expire() {
		return
	}
	scope := m.workflowScope(input)
	transformed, err := m.p.input.in(scope, input)
	if err != nil {
		m.fault(err.At("/"))
		return
	}
	if m.p.input.value != nil {
		s.Transformed = &Value{transformed}
	}
	m.pushQueued(&listFrame{commonFrame: commonFrame{node: workflowNode}, ListName: "do", Data: transformed})
}

// armWorkflow sets when the run began, and the deadlines of the whole run.
func (m *machine) armWorkflow(ev Start) *errors.Error {
	s := m.s
	s.StartedAt, s.Deadlines = m.now, slices.Clone(ev.Deadlines)
	if !ev.StartedAt.IsZero() {
		s.StartedAt = ev.StartedAt
	}
	if m.p.timeout == nil || ev.TimeoutReplaced {
		return nil
	}
	d, err := m.p.timeout.Eval(m.workflowScope(ev.Input), ev.Input)
	if err != nil {
		return err
	}
	from := ev.TimeoutFrom
	if from.IsZero() {
		from = s.StartedAt
	}
	m.workflowValue = nil // it says when the run ends
	s.Deadlines = append(s.Deadlines, newDeadline(DeadlineWorkflow, d, from))
	return nil
}

func (m *machine) handle(ev Event) {
	switch ev := ev.(type) {
	case Finished:
		m.effectFinished(ev)
	case Cancel:
		m.cancelRun(ev)
	case Abort:
		if !m.s.Status.Final() {
			m.fault(ev.Error.At("/"))
		}
	case Suspend:
		m.setSuspended(true, HistoryEvent{Type: WorkflowSuspended, Data: ev.Reason})
	case Resume:
		m.setSuspended(false, HistoryEvent{Type: WorkflowResumed, Data: ev.Reason})
	}
}

func (m *machine) setSuspended(suspended bool, e HistoryEvent) {
	if m.s.Suspended != suspended && !m.s.Status.Final() {
		m.s.Suspended, m.s.headChanged = suspended, true
		m.record(e)
	}
}

// wake continues every task whose wait is over: retries before plain waits, each in the order in which they end.
func (m *machine) wake() {
	if m.s.Status.Final() || m.s.Suspended {
		return
	}
	var due []*taskFrame
	for f := range m.s.tasks() {
		if !f.WakeAt.IsZero() && !m.now.Before(f.WakeAt) {
			due = append(due, f)
		}
	}
	slices.SortStableFunc(due, func(a, b *taskFrame) int {
		if retry := isComposite(a); retry != isComposite(b) {
			return map[bool]int{true: -1, false: 1}[retry]
		}
		return a.WakeAt.Compare(b.WakeAt)
	})
	for _, f := range due {
		if m.s.task(f.ID) == f { // an earlier one may have ended it
			f.WakeAt = time.Time{}
			f.changed()
			m.next(f, f.node.body.(Sleeper).Wake(m.bodyScope(f)))
		}
	}
}

func isComposite(f *taskFrame) bool {
	_, ok := f.node.body.(Composite)
	return ok
}

func (m *machine) effectFinished(ev Finished) {
	f := m.s.taskAwaiting(ev.Effect)
	if f == nil {
		m.record(HistoryEvent{Type: ResultLate, Effect: ev.Effect}) // without the result, which may repeat a secret
		return
	}
	if err := m.checkSize(limits.Data, ev.Result); err != nil {
		ev.Result, ev.Error = nil, err
	}
	result := m.s.redact.EscapeReferences(ev.Result)
	r := HistoryEvent{Type: EffectFinished, Effect: ev.Effect, Attempt: f.Effect.Attempt, Data: result, Error: ev.Error}
	if f.Effect.Confidential || m.s.redact.ContainsSecret(result) {
		r.Data, m.result.Withheld = nil, true
	}
	m.record(f.event(r))
	f.Effect = nil
	f.changed()
	if ev.Error != nil {
		m.fail(f, ev.Error.At(f.pointer().Instance()))
		return
	}
	m.next(f, f.node.body.(Leaf).Finish(m.bodyScope(f), result))
}

func (m *machine) cancelRun(ev Cancel) {
	if m.s.Status.Final() {
		return
	}
	m.cancelAll()
	m.s.Status, m.s.headChanged = StatusCancelled, true
	m.record(HistoryEvent{Type: WorkflowCancelled, Data: ev.Reason})
}

// run advances the queued frames, first come first served, until none is left or the step reaches a limit.
func (m *machine) run() {
	for len(m.s.queued) > 0 && !m.s.Status.Final() && !m.s.Suspended {
		if m.limitReached() {
			m.result.Again = true
			break
		}
		f := m.s.queued[0]
		m.s.queued = m.s.queued[1:]
		if c := f.common(); c.Queued {
			c.Queued = false
			c.changed()
			m.advance(f)
		}
	}
	if !m.result.Again && !m.s.Suspended {
		m.s.queued = nil
	}
	// The order must not depend on whether the state is stored before the next step.
	slices.SortFunc(m.s.queued, byID)
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
	effect := Effect{ID: m.s.lastEffect, Kind: f.node.kind.Kind, Route: f.node.kind.Route, Detached: n.detach, AtMostOnce: f.node.atMostOnce, Request: m.newRequest(f, body, 1)}
	effect.Request.ReadsSecret, effect.Request.Prepared = m.scope.readsSecret, n.value
	m.result.Effects = append(m.result.Effects, effect)
	m.record(f.event(HistoryEvent{Type: EffectStarted, Effect: effect.ID, Attempt: 1}))
	if n.detach {
		m.complete(f, n.output, nil)
		return
	}
	f.Effect = &InFlight{ID: effect.ID, StartedAt: m.now, Attempt: 1, AtMostOnce: f.node.atMostOnce, Request: body}
	f.Effect.Confidential = m.scope.confidential || confidential
	if m.scope.readsSecret {
		f.Effect.Request = nil
	}
	f.changed()
}

func (m *machine) newRequest(f *taskFrame, body []byte, attempt int) Request {
	return Request{
		Body: body, Instance: m.s.ID, Pointer: f.pointer(), Path: f.Path, Key: m.s.key(f.Path), Attempt: attempt,
		Deadline: m.nextDeadline(f),
	}
}

// nextDeadline returns the earliest deadline of f and of the scopes around it.
func (m *machine) nextDeadline(f *taskFrame) time.Time {
	first := earlier(earliest(m.s.Deadlines), earliest(f.Deadlines))
	for around := range m.s.ancestors(f) {
		first = earlier(first, earliest(around.common().Deadlines))
	}
	return first
}

// record adds an event to the history of the run.
func (m *machine) record(e HistoryEvent) {
	m.s.lastHistory++
	m.s.headChanged = true
	e.Seq, e.At = m.s.lastHistory, m.now
	e.Data, e.Error = m.s.redact.Value(e.Data), m.s.redact.Error(e.Error)
	m.recordedBytes += expr.EncodedSize(e.Data, stepBytes)
	if e.Error != nil {
		m.recordedBytes += expr.EncodedSize(e.Error.Value(), stepBytes)
	}
	if m.result.History == nil {
		m.result.History = make([]HistoryEvent, 0, 4) // enough for one task that ends and the next one that starts
	}
	m.result.History = append(m.result.History, e)
}

// event returns e with the task that it is about.
func (f *taskFrame) event(e HistoryEvent) HistoryEvent {
	e.Kind, e.Pointer, e.Path = f.node.kind.Kind, f.pointer(), f.Path
	if f.Origin != e.Pointer {
		e.Origin = f.Origin
	}
	return e
}
