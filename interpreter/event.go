package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
)

// Event is something that happened to a run: one of Start, Finished, Due, Cancel, Suspend, Resume, Release, SetDeadline, RollOver,
// Abort, Migrate, AttemptFailed, ReportedLate and Arrived.
type Event interface{ event() }

// Start begins the run with its raw input.
type Start struct {
	Input any
	// Actor is the person or token that started the run. It is empty if the actor is not known or if another run started it.
	Actor string
	// Deadlines are the run's own deadlines besides the document's timeout.
	Deadlines []Deadline
	// TimeoutReplaced omits the document's timeout, because one of Deadlines replaces it.
	TimeoutReplaced bool
	// StartedAt is the beginning of the run, if the run began before the step; zero otherwise. A run that began after one of its Deadlines never starts.
	StartedAt time.Time
	// TimeoutFrom is the time from which the document's timeout counts; zero for the beginning of the run.
	TimeoutFrom time.Time
	// Depth is the number of runs above this one: see State.Depth.
	Depth int
	// Fork is the place where the run begins, if it continues from a task of another run; nil otherwise.
	Fork *ForkPoint
	// By is the run that started this one, as namespace/id; empty if no run did.
	By string
	// LostOwners is the number of drivers that began the run and were lost before any part of it was stored. Each of them may have sent the first
	// requests.
	LostOwners int
}

// attempt returns the number of the attempt to begin the run; 0 for the first.
func (s Start) attempt() int {
	if s.LostOwners == 0 {
		return 0
	}
	return s.LostOwners + 1
}

// Finished reports that an effect ended with a result or an error.
type Finished struct {
	Effect EffectID
	Result any
	Error  *errors.Error // nil if it ended well
	// Attempt is the last attempt of an activity. For other effects it contains only the kind of the effect's own timeout, if such a timeout ended the
	// effect.
	Attempt Attempt
	// Pointer is the pointer of the task of an activity, which may be over; empty for other effects.
	Pointer string
	// Successor is the definition that an effect of RouteDefinition has requested; nil for other effects.
	Successor *Successor
}

// Due reports that time has passed, or that a step left work to do. It may come at any time, even too early.
type Due struct{}

// Cancel ends the run from outside.
type Cancel struct {
	Reason, Actor string
	// LateAt is the soft deadline that a run passed before it began; zero for none, and for a run in progress.
	LateAt time.Time
}

// Suspend prevents tasks from starting until Resume. Work in progress continues, and deadlines stay in force.
type Suspend struct{ Reason, Actor string }

// Resume ends a suspension. The tasks that could not start during the suspension start now.
type Resume struct{ Reason, Actor string }

// Release lets a quarantined run continue. The store ends the quarantine. The event only records in the history who ended it, and why.
type Release struct{ Reason, Actor string }

// Abort ends the run with an error from outside that no task can catch: the run has reached a limit of its host.
type Abort struct {
	Error *errors.Error
}

// RetryNow ends the delays between the attempts of tries: tries that wait for the next attempt continue immediately.
type RetryNow struct{ Reason, Actor string }

func (RetryNow) event() {}

func (m *machine) retryNow(ev RetryNow) {
	m.record(HistoryEvent{Type: WorkflowRetried, Data: given(ev.Reason), Actor: ev.Actor})
	for f := range m.s.tasks() {
		if !f.WakeAt.IsZero() && isComposite(f) {
			f.WakeAt = m.now
			f.changed()
		}
	}
}

func (Start) event()    {}
func (Finished) event() {}
func (Due) event()      {}
func (Cancel) event()   {}
func (Suspend) event()  {}
func (Resume) event()   {}
func (Release) event()  {}
func (Abort) event()    {}

func (m *machine) start(ev Start) {
	s, input := m.s, m.s.redact.EscapeReferences(ev.Input)
	ev.Input = input
	s.Status, s.Input, s.Depth, s.headChanged = StatusRunning, input, ev.Depth, true
	m.lostOwners = ev.LostOwners
	invalid := m.armWorkflow(ev)
	if at := firstPassed(s.Deadlines, s.StartedAt); at >= 0 && s.Deadlines[at].StartedAt.Before(s.StartedAt) {
		s.StartedAt, s.Deadlines = time.Time{}, s.Deadlines[at:at+1]
		m.expire()
		return
	}
	if ev.Fork != nil && invalid == nil {
		m.startFork(ev)
		m.expire()
		return
	}
	if err := m.checkSize(limits.Input, input); err != nil {
		input, invalid = nil, err // data that is too large to work with is too large for the history
	}
	m.record(HistoryEvent{Type: WorkflowStarted, Actor: ev.Actor, Data: input, Deadlines: s.Deadlines, Run: ev.By, Attempt: ev.attempt()})
	if invalid != nil {
		m.noteLate()
		m.fault(invalid.At("/"))
		return
	}
	if m.expire() {
		m.noteLate()
		m.enterWorkflow(input)
	}
}

// enterWorkflow begins the workflow's own list of tasks.
func (m *machine) enterWorkflow(input any) {
	s, scope := m.s, m.workflowScope(input)
	transformed, err := m.p.input.in(scope, input)
	if err != nil {
		m.fault(err.At("/"))
		return
	}
	if m.p.input.value != nil {
		s.Transformed = &Value{transformed}
	}
	m.pushQueued(&listFrame{commonFrame: commonFrame{node: workflowNode, Path: s.rootPath()}, ListName: "do", Data: transformed})
}

// armWorkflow sets the beginning of the run, and the deadlines of the whole run.
func (m *machine) armWorkflow(ev Start) *errors.Error {
	s := m.s
	s.StartedAt, s.Deadlines = m.now, slices.Clone(ev.Deadlines)
	if !ev.StartedAt.IsZero() {
		s.StartedAt = ev.StartedAt
	}
	from := ev.TimeoutFrom
	if from.IsZero() {
		from = s.StartedAt
	}
	s.RunTimeout = runTimeout(s.Deadlines)
	s.Soft.arm(m.p.Workflow.Document.Engine.SoftDeadline, from)
	if m.p.timeout == nil || ev.TimeoutReplaced {
		return nil
	}
	d, err := m.p.timeout.Eval(m.workflowScope(ev.Input), ev.Input)
	if err != nil {
		return err
	}
	m.workflowValue = nil // it contains the end of the run
	s.Deadlines = append(s.Deadlines, newDeadline(DeadlineWorkflow, d, from))
	return nil
}

func (m *machine) handle(ev Event) {
	switch ev := ev.(type) {
	case Finished:
		m.effectFinished(ev)
	case RetryNow:
		if m.s.Status == StatusRunning {
			m.retryNow(ev)
		}
	case RollOver:
		m.rollOver()
	case Migrate:
		m.migrate(ev)
	case Cancel:
		m.cancelRun(ev)
	case Abort:
		if !m.s.Status.Final() {
			m.fault(ev.Error.At("/"))
		}
	case AttemptFailed:
		m.attemptFailed(ev)
	case ReportedLate:
		m.reportedLate(ev)
	case Arrived:
		m.arrived(ev)
	case Suspend:
		m.setSuspended(true, HistoryEvent{Type: WorkflowSuspended, Data: given(ev.Reason), Actor: ev.Actor})
	case Resume:
		m.setSuspended(false, HistoryEvent{Type: WorkflowResumed, Data: given(ev.Reason), Actor: ev.Actor})
	case Release:
		if !m.s.Status.Final() {
			m.record(HistoryEvent{Type: WorkflowReleased, Data: given(ev.Reason), Actor: ev.Actor})
		}
	}
}

// Order is the reason for the cancellation or suspension of a run, and the actor of the command; both may be empty.
type Order struct{ Reason, Actor string }

// orderOf returns the order that the event of a command contains.
func orderOf(e HistoryEvent) Order {
	reason, _ := e.Data.(string)
	return Order{Reason: reason, Actor: e.Actor}
}

// given returns the reason of a command as data; nil if no reason was given.
func given(reason string) any {
	if reason == "" {
		return nil
	}
	return reason
}

func (m *machine) setSuspended(suspended bool, e HistoryEvent) {
	if m.s.Suspended != suspended && !m.s.Status.Final() {
		m.s.Suspended, m.s.headChanged = suspended, true
		m.s.Order = Order{}
		if suspended {
			m.s.Order = orderOf(e)
		}
		m.record(e)
		m.setTasksSuspended(suspended)
	}
}

// setTasksSuspended records for each task with other tasks in progress that nothing starts in it any more, or that starts are possible again. All
// other tasks continue.
func (m *machine) setTasksSuspended(suspended bool) {
	holds := map[FrameID]bool{}
	for _, f := range m.s.frames {
		holds[f.common().Parent] = true
	}
	for f := range m.s.tasks() {
		switch {
		case suspended && holds[f.ID]:
			m.suspendTask(f)
		case !suspended && f.Suspended:
			f.Suspended = false
			f.changed()
			m.record(f.event(HistoryEvent{Type: TaskResumed}))
		}
	}
}

// suspendTask records once that nothing starts in a task any more.
func (m *machine) suspendTask(f *taskFrame) {
	if !f.Suspended {
		f.Suspended = true
		f.changed()
		m.record(f.event(HistoryEvent{Type: TaskSuspended}))
	}
}

func (m *machine) cancelRun(ev Cancel) {
	if m.s.Status.Final() {
		return
	}
	if m.s.Status == StatusPending && !ev.LateAt.IsZero() {
		m.s.Soft.At = ev.LateAt
		m.becomesLate(softScope{soft: &m.s.Soft})
	}
	m.cancelAll()
	m.closeBeside()
	e := HistoryEvent{Type: WorkflowCancelled, Data: given(ev.Reason), Actor: ev.Actor}
	m.s.Status, m.s.Order, m.s.headChanged = StatusCancelled, orderOf(e), true
	m.record(e)
}
