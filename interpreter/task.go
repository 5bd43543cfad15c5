package interpreter

import (
	"strconv"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// This file holds the protocol around every task (semantics 3.1): if on the raw input, timeout, extensions, input.schema,
// input.from, the kind's body, output.as, output.schema, export.as, export.schema, extensions, then.

// enter starts task n below parent, or skips it if its condition is false.
func (m *machine) enter(parent *listFrame, n *node, f *taskFrame) {
	m.result.TasksStarted++
	f.StartedAt = m.now
	scope := m.rawScope(parent, f)
	run, err := scope.EvalCondition(n.condition, f.Raw, true)
	if err != nil {
		m.s.push(f)
		m.fail(f, err)
		return
	}
	if !run {
		m.record(f.event(HistoryEvent{Type: TaskSkipped}))
		m.deliver(parent, f, f.Raw, nil)
		return
	}
	m.s.push(f)
	m.begin(f, scope)
}

// begin starts a task that is not skipped.
func (m *machine) begin(f *taskFrame, scope *Scope) {
	f.Soft.arm(f.node.soft, m.now)
	err := m.arm(f, scope)
	m.observed.begins(m, f)
	m.record(f.event(HistoryEvent{Type: TaskStarted, Data: f.Raw, Until: f.firstDeadline()}))
	if err != nil {
		m.fail(f, err)
		return
	}
	m.proceed(f)
}

// proceed continues a task that has started, if the secrets that it names are available.
func (m *machine) proceed(f *taskFrame) {
	if m.holdsBack(f) {
		return
	}
	if err := m.requireSecrets(f.node); err != nil {
		m.fail(f, err)
		return
	}
	m.before(f, 0)
}

// arm sets the deadline of a task that has a timeout.
func (m *machine) arm(f *taskFrame, scope *Scope) *errors.Error {
	if f.node.timeout == nil {
		return nil
	}
	d, err := f.node.timeout.Eval(scope, f.Raw)
	if err != nil {
		return err
	}
	deadline := newDeadline(DeadlineTask, d, m.now)
	f.Deadlines = append(f.Deadlines, deadline)
	if !deadline.At.After(m.now) {
		return m.expiry(f, deadline)
	}
	return nil
}

func (f *taskFrame) firstDeadline() (t time.Time) {
	if len(f.Deadlines) > 0 {
		t = f.Deadlines[0].At
	}
	return t
}

// before runs the before tasks of the extensions from the i-th on, and then the task's body.
func (m *machine) before(f *taskFrame, i int) {
	for ; i < len(f.node.extensions); i++ {
		e := f.node.extensions[i]
		applies, err := m.rawScope(f, f).EvalCondition(e.when, f.Raw, true)
		if err != nil {
			m.fail(f, err)
			return
		}
		if applies && e.before != nil {
			f.Phase, f.Extension = PhaseBefore, i
			f.changed()
			m.runList(f, Next{list: e.before, value: f.Raw})
			return
		}
	}
	m.body(f)
}

// body transforms the input and enters the kind's own logic.
func (m *machine) body(f *taskFrame) {
	f.Phase = PhaseBody
	f.changed()
	input, err := f.node.input.in(m.rawScope(f, f), f.Raw)
	if err != nil {
		m.fail(f, err)
		return
	}
	f.Input = input
	m.observed.transforms(m, f)
	m.next(f, f.node.body.Enter(m.bodyScope(f)))
}

// next carries out the request of the body.
func (m *machine) next(f *taskFrame, n Next) {
	switch n.kind {
	case nextDone:
		m.complete(f, n.value, n.then)
	case nextFail:
		m.fail(f, n.err)
	case nextRun:
		m.runList(f, n)
	case nextFork:
		m.fork(f, n)
	case nextSleep:
		m.sleep(f, n)
	case nextPerform:
		m.startEffect(f, n)
	case nextContinue:
		m.continueAsNew(f, n.value)
	}
}

func (m *machine) sleep(f *taskFrame, n Next) {
	if !n.recorded {
		m.record(f.event(HistoryEvent{Type: TaskWaiting, Until: n.until}))
	}
	if !n.until.After(m.now) && !m.limitReached() {
		m.next(f, f.node.body.(Sleeper).Wake(m.bodyScope(f)))
		return
	}
	f.WakeAt, f.Called = n.until, n.called
	f.changed()
}

func (m *machine) runList(f *taskFrame, n Next) {
	list := &listFrame{ListName: n.list.name, Repetition: n.repetition, Data: n.value}
	list.commonFrame = f.child(f.node, f.Path+Path(n.repetition.suffix()))
	list.Vars = n.vars
	if n.list.absolute {
		list.Prefix = ""
	}
	if n.list.inlined() {
		list.Prefix = f.pointer()
	}
	if n.deadline != nil {
		list.Deadlines = []Deadline{*n.deadline}
	}
	m.pushQueued(list)
}

// pushQueued adds a frame and queues it.
func (m *machine) pushQueued(f frame) {
	m.s.push(f)
	m.s.queue(f)
	if around := m.s.task(f.common().Parent); around != nil && m.s.Suspended { // it does not start
		m.suspendTask(around)
	}
}

func (m *machine) fork(f *taskFrame, n Next) {
	if err := m.checkBranches(len(n.list.tasks)); err != nil {
		m.fail(f, err)
		return
	}
	context := *m.context(f)
	for i := range n.list.tasks {
		branch := &taskFrame{Raw: n.value, Branch: i, Isolated: true, Context: context}
		branch.commonFrame = f.child(n.list.tasks[i], f.Path+Path(n.list.tasks[i].segment))
		m.pushQueued(branch)
	}
}

// advance continues a queued frame: a list with its next task, a branch of a fork with its task.
func (m *machine) advance(f frame) {
	switch f := f.(type) {
	case *taskFrame:
		if f.StartedAt.IsZero() {
			m.enterBranch(f)
		} else { // it was held back
			m.proceed(f)
		}
	case *listFrame:
		list := m.listOf(f)
		if f.At >= len(list.tasks) {
			m.listDone(f, f.Data, false)
			return
		}
		n := list.tasks[f.At]
		m.enter(f, n, &taskFrame{commonFrame: f.child(n, f.pathOf(n)), Raw: f.Data})
	}
}

// enterBranch enters the task of a branch, whose frame exists already so that it holds the branch's context.
func (m *machine) enterBranch(f *taskFrame) {
	parent := m.s.frame(f.Parent)
	m.result.TasksStarted++
	f.StartedAt = m.now
	scope := m.rawScope(f, f)
	run, err := scope.EvalCondition(f.node.condition, f.Raw, true)
	if err == nil && !run {
		m.record(f.event(HistoryEvent{Type: TaskSkipped}))
		m.s.remove(f)
		m.deliver(parent, f, f.Raw, nil)
		return
	}
	if err != nil {
		m.fail(f, err)
		return
	}
	m.begin(f, scope)
}

func (m *machine) listOf(f *listFrame) *List {
	if f.Parent == 0 {
		return m.p.root
	}
	return f.node.list(f.ListName)
}

// child returns the common part of a new frame below f.
func (f *commonFrame) child(n *node, p Path) commonFrame {
	return commonFrame{Parent: f.ID, Origin: n.origin, Prefix: f.Prefix, Path: p, node: n}
}

// pathOf returns the path of the task n in the list that f runs.
func (f *listFrame) pathOf(n *node) Path {
	path := f.Path + Path(n.segment)
	if f.BackwardJumps > 0 {
		path += Path("+" + strconv.Itoa(f.BackwardJumps))
	}
	return path
}

// complete ends the body of f with its raw output.
func (m *machine) complete(f *taskFrame, raw any, then *Jump) {
	m.cancelChildren(f)
	f.RawOutput, f.Listens = raw, nil
	m.observed.produces(m, f, raw)
	scope := m.bodyScope(f)
	scope.output = raw
	output, err := f.node.output.out(scope, raw)
	if err != nil {
		m.fail(f, err)
		return
	}
	scope.output = output
	if err := m.export(f, scope, f.node.export, output); err != nil {
		m.fail(f, err)
		return
	}
	m.observed.exports(m, f)
	f.Output, f.Then = output, then
	f.Vars = nil // values that were bound for output.as and export.as may be credentials, and are not stored
	if len(f.node.extensions) == 0 || (then != nil && then.Directive == dsl.DirectiveEnd && then.unwinding) {
		m.finish(f)
		return
	}
	f.Phase = PhaseAfter
	f.changed()
	m.after(f, len(f.node.extensions)-1)
}

func (m *machine) export(f *taskFrame, scope *Scope, t transform, output any) *errors.Error {
	if t.value != nil {
		context, err := scope.Eval(t.value, output)
		if err != nil {
			return err
		}
		m.setContext(f, context)
	}
	return scope.valid(t.schema, "the context", *m.context(f))
}

// after runs the after tasks of the extensions from the i-th down, and then ends the task.
func (m *machine) after(f *taskFrame, i int) {
	for ; i >= 0; i-- {
		e := f.node.extensions[i]
		applies, err := m.rawScope(f, f).EvalCondition(e.when, f.Raw, true)
		if err != nil {
			m.fail(f, err)
			return
		}
		if applies && e.after != nil {
			f.Extension = i
			f.changed()
			m.runList(f, Next{list: e.after, value: f.Output})
			return
		}
	}
	m.finish(f)
}

// finish ends f with its transformed output, and passes the output to its parent.
func (m *machine) finish(f *taskFrame) {
	m.record(f.event(HistoryEvent{Type: TaskCompleted, Data: f.Output, Correlated: m.correlated(f)}))
	then := f.Then
	if then == nil {
		then = &f.node.then
	}
	m.s.remove(f)
	m.deliver(m.s.frame(f.Parent), f, f.Output, then)
}
