package interpreter

import (
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// deliver passes the output of the ended task f to its parent. A nil jump means that the task was skipped, so that its flow directive does not apply.
func (m *machine) deliver(parent frame, f *taskFrame, output any, then *Jump) {
	if then == nil {
		then = &Jump{}
	}
	switch parent := parent.(type) {
	case *listFrame:
		m.continueList(parent, output, then)
	case *taskFrame: // f is a branch of a fork
		if then.Directive == dsl.DirectiveEnd { // as with the winner of a race, its context becomes the context of the fork
			m.setContext(parent, f.Context)
			m.end(parent, output)
			return
		}
		m.childDone(parent, Child{Branch: f.Branch, Output: output, context: f.Context})
	}
}

// continueList continues a list after the end of one of its tasks.
func (m *machine) continueList(list *listFrame, output any, then *Jump) {
	list.Data = output
	list.changed()
	switch then.Directive {
	case dsl.DirectiveEnd:
		m.endList(list, output)
	case dsl.DirectiveExit:
		m.listDone(list, output, true)
	case dsl.DirectiveTask:
		if then.Index <= list.At {
			list.BackwardJumps++
		}
		list.At = then.Index
		m.s.queue(list)
	default:
		list.At++
		m.s.queue(list)
	}
}

// listDone ends a list, after its last task or by an exit directive, and passes its output to the task that owns it.
func (m *machine) listDone(list *listFrame, output any, exit bool) {
	m.s.remove(list)
	if list.Parent == 0 {
		m.completeWorkflow(output)
		return
	}
	f := m.s.task(list.Parent)
	switch f.Phase {
	case PhaseBefore:
		if exit { // the extension's output replaces the body's output (semantics section 13)
			f.Input = f.Raw
			m.complete(f, output, nil)
			return
		}
		m.before(f, f.Extension+1)
	case PhaseAfter:
		m.after(f, f.Extension-1)
	default:
		m.childDone(f, Child{Repetition: list.Repetition, Output: output})
	}
}

func (m *machine) childDone(f *taskFrame, c Child) {
	m.next(f, f.node.body.(Composite).ChildDone(m.bodyScope(f), c))
}

// endList ends a list after one of its tasks ended the workflow (semantics 4.5).
func (m *machine) endList(list *listFrame, output any) {
	m.s.remove(list)
	if list.Parent == 0 {
		m.completeWorkflow(output)
		return
	}
	m.end(m.s.task(list.Parent), output)
}

// end completes f with the output of the task that ended the workflow, and continues unwinding.
func (m *machine) end(f *taskFrame, output any) {
	m.cancelChildren(f)
	m.complete(f, output, &Jump{Directive: dsl.DirectiveEnd, unwinding: true})
}

// fail ends f with an error, and unwinds to the task that handles the error, or to the end of the run.
func (m *machine) fail(f frame, err *errors.Error) {
	err = m.errorAt(err, f.common().pointer())
	for {
		m.cancelChildrenBy(f, err)
		m.s.remove(f)
		if task, ok := f.(*taskFrame); ok {
			m.cancelEffect(task) // after a timeout it may be in flight
			m.record(task.cutEvent(HistoryEvent{Type: TaskFaulted, Error: err, Timeout: m.timeoutKind(err)}))
		}
		if f = m.s.frame(f.common().Parent); f == nil {
			m.fault(err)
			return
		}
		task, ok := f.(*taskFrame)
		if !ok || task.Phase != PhaseBody {
			continue
		}
		if composite, ok := task.node.body.(Composite); ok {
			m.cancelChildrenBy(task, err)
			n := composite.ChildFailed(m.bodyScope(task), err)
			if n.kind != nextFail {
				m.next(task, n)
				return
			}
			err = m.errorAt(n.err, task.pointer())
		}
	}
}

// cancelChildren ends everything below f.
func (m *machine) cancelChildren(f frame) {
	last, id := len(m.s.frames)-1, f.common().ID
	if last < 0 || m.s.frames[last].common().ID <= id {
		return // f is the newest, so it has no children
	}
	inside := map[FrameID]bool{id: true}
	var children []frame
	for _, g := range m.s.frames {
		if c := g.common(); inside[c.Parent] && c.Parent != 0 {
			inside[c.ID] = true
			children = append(children, g)
		}
	}
	for _, g := range slices.Backward(children) {
		m.cancel(g)
	}
}

// cancelChildrenBy cancels the children of f because of an error, which their history events name.
func (m *machine) cancelChildrenBy(f frame, err *errors.Error) {
	m.cause = err
	m.cancelChildren(f)
	m.cause = nil
}

func (m *machine) cancel(f frame) {
	m.s.remove(f)
	task, ok := f.(*taskFrame)
	if !ok {
		return
	}
	m.cancelEffect(task)
	if !task.StartedAt.IsZero() {
		m.record(task.cutEvent(HistoryEvent{Type: TaskCancelled, Error: m.cause}))
	}
}

// cancelEffect cancels the effect that a task waits for, if any.
func (m *machine) cancelEffect(f *taskFrame) {
	if f.Effect == nil {
		return
	}
	m.unwanted(f.Effect.ID)
}

// unwanted cancels an effect. An effect that the same step requested is not started at all.
func (m *machine) unwanted(id EffectID) {
	before := len(m.result.Effects)
	m.result.Effects = slices.DeleteFunc(m.result.Effects, func(e Effect) bool { return e.ID == id })
	if len(m.result.Effects) == before {
		m.result.Cancels = append(m.result.Cancels, id)
	}
}

func (m *machine) cancelAll() {
	for _, f := range slices.Backward(slices.Clone(m.s.frames)) {
		m.cancel(f)
	}
	m.s.queued = nil
}

func (m *machine) fault(err *errors.Error) {
	err = m.errorAt(err, "")
	m.cause = err
	m.cancelAll()
	m.closeBeside()
	m.cause = nil
	m.s.Status, m.s.Fault, m.s.TimedOut, m.s.Order, m.s.headChanged = StatusFaulted, err, m.timeoutKind(err) != "", Order{}, true
	m.record(HistoryEvent{Type: WorkflowFaulted, Error: err, Timeout: m.timeoutKind(err)})
}

func (m *machine) completeWorkflow(raw any) {
	input := m.s.Input
	if m.s.Transformed != nil {
		input = m.s.Transformed.V
	}
	scope := m.workflowScope(input)
	scope.output = raw
	output, err := m.p.output.out(scope, raw)
	if err != nil {
		m.fault(err.At("/"))
		return
	}
	m.cancelAll()
	m.closeBeside()
	output = m.s.redact.Value(output) // its readers may have no access to the secrets
	m.s.Status, m.s.Output, m.s.Order, m.s.headChanged = StatusCompleted, output, Order{}, true
	m.record(HistoryEvent{Type: WorkflowCompleted, Data: output})
}
