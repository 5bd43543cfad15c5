package interpreter

import (
	"slices"
	"strconv"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

func itoa(i int) string { return strconv.Itoa(i) }

// deliver hands the output of the ended task f to the frame it ran below. A nil jump is a task that was skipped,
// whose flow directive does not count.
func (m *machine) deliver(parent, f *Frame, output any, then *Jump) {
	if then == nil {
		then = &Jump{}
	}
	if !parent.isList() { // a branch of a fork
		if then.Directive == dsl.DirectiveEnd { // like the winner of a race, whose exports count
			m.setContext(parent, f.Context)
			m.end(parent, output)
			return
		}
		m.childDone(parent, Child{Branch: f.Branch, Output: output, context: f.Context})
		return
	}
	parent.Raw = output
	parent.changed()
	switch then.Directive {
	case dsl.DirectiveEnd:
		m.endList(parent, output)
	case dsl.DirectiveExit:
		m.listDone(parent, output, true)
	case dsl.DirectiveTask:
		if then.Index <= parent.At {
			parent.Lap++
		}
		parent.At = then.Index
		m.s.queue(parent)
	default:
		parent.At++
		m.s.queue(parent)
	}
}

// listDone ends a list, by its last task or by exit, and hands its output to the task that it belongs to.
func (m *machine) listDone(list *Frame, output any, exit bool) {
	m.s.remove(list)
	if list.Parent == 0 {
		m.completeWorkflow(output)
		return
	}
	f := m.s.frame(list.Parent)
	switch f.Phase {
	case PhaseBefore:
		if exit { // the extension's output stands in for the body's (semantics section 13)
			f.Input = f.Raw
			m.complete(f, output, nil)
			return
		}
		m.before(f, f.Extension+1)
	case PhaseAfter:
		m.after(f, f.Extension-1)
	default:
		m.childDone(f, Child{Pass: list.Pass, Output: output})
	}
}

func (m *machine) childDone(f *Frame, c Child) {
	m.next(f, f.node.body.(Composite).ChildDone(m.bodyScope(f), c))
}

// endList unwinds end through a list (semantics 4.5).
func (m *machine) endList(list *Frame, output any) {
	m.s.remove(list)
	if list.Parent == 0 {
		m.completeWorkflow(output)
		return
	}
	m.end(m.s.frame(list.Parent), output)
}

// end completes f with the output of the task that ended the workflow, and goes on unwinding.
func (m *machine) end(f *Frame, output any) {
	m.cancelChildren(f)
	m.complete(f, output, &Jump{Directive: dsl.DirectiveEnd, unwinding: true})
}

// fail ends f with an error and looks for what handles it.
func (m *machine) fail(f *Frame, err *errors.Error) {
	err = m.located(err, f.pointer())
	for {
		m.cancelChildrenBy(f, err)
		if f.Effect != nil { // its time is over
			m.cancelEffect(f.Effect.ID)
		}
		m.s.remove(f)
		if !f.isList() {
			m.record(f.record(HistoryEvent{Type: TaskFaulted, Error: err, Timeout: m.timeoutOf(err)}))
		}
		parent := m.s.frame(f.Parent)
		if parent == nil {
			m.fault(err)
			return
		}
		if composite, ok := parent.node.body.(Composite); ok && !parent.isList() && parent.Phase == PhaseBody {
			m.cancelChildrenBy(parent, err)
			n := composite.ChildFailed(m.bodyScope(parent), err)
			if n.kind != nextFail {
				m.next(parent, n)
				return
			}
			err = m.located(n.err, parent.pointer())
		}
		f = parent
	}
}

// cancelChildren ends everything below f.
func (m *machine) cancelChildren(f *Frame) {
	last := len(m.s.frames) - 1
	if last < 0 || m.s.frames[last].ID <= f.ID {
		return // f is the newest, so it has no children
	}
	inside := map[FrameID]bool{f.ID: true}
	var children []*Frame
	for _, g := range m.s.frames {
		if inside[g.Parent] && g.Parent != 0 {
			inside[g.ID] = true
			children = append(children, g)
		}
	}
	for _, g := range slices.Backward(children) {
		m.cancel(g)
	}
}

// cancelChildrenBy is cancelChildren because of an error, which the records tell.
func (m *machine) cancelChildrenBy(f *Frame, err *errors.Error) {
	m.cause = err
	m.cancelChildren(f)
	m.cause = nil
}

func (m *machine) cancel(f *Frame) {
	if f.Effect != nil {
		m.cancelEffect(f.Effect.ID)
	}
	m.s.remove(f)
	if !f.isList() && !f.StartedAt.IsZero() {
		m.record(f.record(HistoryEvent{Type: TaskCancelled, Error: m.cause}))
	}
}

// cancelEffect takes an effect back: one that this very step wanted is not even started.
func (m *machine) cancelEffect(id EffectID) {
	wanted := len(m.result.Effects)
	m.result.Effects = slices.DeleteFunc(m.result.Effects, func(e Effect) bool { return e.ID == id })
	if len(m.result.Effects) == wanted {
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
	err = m.located(err, "")
	m.cause = err
	m.cancelAll()
	m.cause = nil
	m.s.Status, m.s.Fault, m.s.TimedOut, m.s.head = StatusFaulted, err, m.timeoutOf(err) != "", true
	m.record(HistoryEvent{Type: WorkflowFaulted, Error: err, Timeout: m.timeoutOf(err)})
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
	output = m.s.redact.Value(output) // whoever reads it need not know the secrets
	m.s.Status, m.s.Output, m.s.head = StatusCompleted, output, true
	m.record(HistoryEvent{Type: WorkflowCompleted, Data: output})
}
