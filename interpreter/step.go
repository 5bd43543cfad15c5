package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Result contains the requests of a step to its driver.
type Result struct {
	Effects []Effect       // to perform, in order
	Cancels []EffectID     // effects in flight whose result is no longer needed
	History []HistoryEvent // the events of the step, in order
	// Again reports that the step stopped at its limit of work. Call Step with Due immediately.
	Again bool
	// Withheld reports that the history omits the result of an effect because it may repeat a secret. The step then cannot be replayed from its history,
	// so that the whole state has to be stored with it.
	Withheld bool
	// DeadlinesMoved reports that SetDeadline changed a deadline: deadlines that were reported before are outdated.
	DeadlinesMoved bool
	// Lacks contains, for each started task that needs another driver to continue, all of its missing needs: see Config.LeaveSecrets and
	// State.LeaveDetached. Such tasks stay unchanged.
	Lacks [][]string
	// TasksStarted is the number of tasks that the step started.
	TasksStarted int
}

// Migrated reports whether the step continued with another program.
func (r *Result) Migrated() bool {
	return slices.ContainsFunc(r.History, func(e HistoryEvent) bool { return e.Type == WorkflowMigrated })
}

// stepLimit is the maximum number of tasks that one step starts, so that a loop without waits notices a deadline or a cancel, and the history of a
// step stays small.
const stepLimit = 1000

// stepBytes limits the bytes of history events and requests of a step. After more bytes the step starts no more tasks, so that its driver does not
// have to keep or store much more in one piece.
const stepBytes = 4 << 20

// workLimit limits the work of expressions and schemas in a step, for the same reason, in units of about a microsecond. Work is counted and not
// measured, so that a step ends at the same task on every machine.
const workLimit = 250_000

// Step advances the run as far as possible without the outside. It is deterministic: the same program, state, event and time always give the same
// result. It changes s in place; a driver that cannot keep the outcome drops s.
//
// An event that comes too late, because no task waits for its effect or because the run is over, changes only the history.
func Step(p *Program, s *State, ev Event, now time.Time) Result {
	m := &machine{p: p, s: s, now: now}
	m.step(ev)
	return m.result
}

// step handles an event, and then advances the run.
func (m *machine) step(ev Event) {
	s, p := m.s, m.p
	m.scope.m, s.redact = m, p.redactions()
	m.resolveNodes()
	if start, ok := ev.(Start); ok && s.Status == StatusPending {
		m.start(start)
	} else {
		m.happened(ev)
	}
	if !m.migrated { // the other program does the next step
		m.run()
	}
}

// happened handles any event except the first.
func (m *machine) happened(ev Event) {
	if set, ok := ev.(SetDeadline); ok {
		m.setDeadline(set)
		if !set.expires { // the next step handles due work, because another change of the deadline may come first
			return
		}
	}
	if came, ok := ev.(Arrived); ok && came.At.Before(m.now) && !came.At.IsZero() {
		m.arrivedEarlier(came)
		ev = Due{}
	}
	if m.s.Status.Final() || m.s.Status == StatusPending || m.expire() {
		m.noteLate()
		if m.handle(ev); !m.migrated {
			m.wake()
		}
	}
}

// machine is one step in progress.
type machine struct {
	p      *Program
	s      *State
	now    time.Time
	came   time.Time // arrival time of the present event, if it decides which deadlines have passed; zero otherwise
	scope  Scope
	result Result

	recordedBytes int // bytes of the step's history events and requests so far

	workflowValue map[string]any // $workflow, once it is used
	runtimeValue  map[string]any // $runtime, the same
	held          []frame        // frames that need another driver
	cause         *errors.Error  // the error that causes the present cancellations; nil if there is no error
	work          int            // units of work so far
	lostOwners    int            // see Start.LostOwners; 0 for other events
	until         Path           // the task before which the step stops; empty for none
	reached       bool           // whether it stopped there
	observed      *observation   // of a task; nil unless the step is computed again for it
	expired       *errors.Error  // the timeout error of the passed deadline, while it is passed on
	expiredKind   string         // of that deadline
	recorded      []HistoryEvent // of the step that is computed again; nil for a new step
	migrated      bool           // the run continues with another program
	successor     *Successor     // of the run that is about to end; nil if the next run keeps the definition
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

// nodeOf finds the task of a frame among the tasks of its parent, which was resolved before.
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

// workflowNode represents the workflow where a frame needs a task: the owner of the workflow's own list.
var workflowNode = &node{}

// wake continues every task whose wait is over: retries before plain waits, each in the order of their ends.
func (m *machine) wake() {
	if m.s.Status.Final() || m.s.Suspended {
		return
	}
	var due []*taskFrame
	for f := range m.s.tasks() {
		if at := f.wakesAt(); !at.IsZero() && !m.now.Before(at) {
			due = append(due, f)
		}
	}
	slices.SortStableFunc(due, func(a, b *taskFrame) int {
		if retry := isComposite(a); retry != isComposite(b) {
			return map[bool]int{true: -1, false: 1}[retry]
		}
		return a.wakesAt().Compare(b.wakesAt())
	})
	for _, f := range due {
		if m.s.task(f.ID) == f { // an earlier task may have ended it
			m.cancelEffect(f) // the task needed it until now
			f.WakeAt, f.Effect, f.Called = time.Time{}, nil, nil
			f.changed()
			if m.s.Unwaited > 0 {
				m.s.Unwaited, m.s.headChanged = 0, true
			}
			m.next(f, f.node.body.(Sleeper).Wake(m.bodyScope(f)))
		}
	}
}

func isComposite(f *taskFrame) bool {
	_, ok := f.node.body.(Composite)
	return ok
}

// run advances the queued frames, first come first served, until none is left or the step reaches a limit.
func (m *machine) run() {
	for len(m.s.queued) > 0 && !m.s.Status.Final() && !m.s.Suspended && !m.reached {
		if m.limitReached() {
			m.result.Again = true
			break
		}
		f := m.s.queued[0]
		m.s.queued = m.s.queued[1:]
		if c := f.common(); c.Queued {
			c.Queued = false
			c.changed()
			if !m.stopsBefore(f) {
				m.advance(f)
			}
		}
	}
	if !m.result.Again && !m.s.Suspended && !m.reached {
		m.s.queued = nil
	}
	for _, f := range m.held {
		if f.common().Queued { // a frame before it may have ended it
			m.s.queued = append(m.s.queued, f)
		}
	}
	// The order must not depend on whether the state is stored before the next step.
	slices.SortFunc(m.s.queued, byID)
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
	e.Kind, e.Route, e.Pointer, e.Path = f.node.kind.Kind, f.node.kind.Route, f.pointer(), f.Path
	if f.Origin != e.Pointer {
		e.Origin = f.Origin
	}
	return e
}
