package execution

import (
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// Child runs: how a run starts and ends them, and how it answers its own parent.

// child is an effect that another run performs.
type child struct {
	instance store.Instance
	close    string
}

// adoptBeside records the detached children that end with the run.
func (x *Execution) adoptBeside() error {
	for _, b := range x.state.Beside() {
		i, err := store.ParseInstance(b.Run)
		if err != nil {
			return err
		}
		x.children[b.Effect] = child{i, b.Close}
	}
	return nil
}

// toldOfEnd returns the message about the end of the run to its parent: its result if the parent waits for it, and only the end otherwise.
// ok is false if no parent needs the message.
func (x *Execution) toldOfEnd() (o Outgoing, ok bool) {
	switch beside := x.invocation.Beside; {
	case x.invocation.Parent != nil:
		return x.answer(), true
	case beside != nil:
		m := inbox.Message{Type: interpreter.EventFinished, Effect: beside.Effect}
		return Outgoing{Deliver: &OutgoingMessage{To: beside.Instance, Message: m}}, true
	}
	return o, false
}

// answer is the message to the parent with the outcome of the run.
func (x *Execution) answer() Outgoing {
	m := inbox.Message{Type: interpreter.EventFinished, Effect: x.invocation.Parent.Effect}
	result, err := x.Outcome().Result()
	if err != nil {
		m.Error = err.With(interpreter.MemberRun, x.instance.String())
	} else {
		m.Result = &interpreter.Value{V: result}
	}
	return Outgoing{Deliver: &OutgoingMessage{To: x.invocation.Parent.Instance, Message: m}}
}

// startChild puts the start of a child workflow into the outbox.
func (x *Execution) startChild(e interpreter.Effect) {
	r, err := interpreter.ReadChildRequest(e.Request.Body)
	if err != nil {
		x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: err})
		return
	}
	start := &ChildStart{
		ID: x.childID(e), Workflow: definition.Reference{Namespace: r.Namespace, Name: r.Name, Version: r.Version}, Input: r.Input,
		Depth: x.invocation.Depth + 1, Family: x.family(), Cause: x.invocation.Cause, TraceParent: x.invocation.SpanParent(x.instance, e.Request.Path),
	}
	if !e.Detached && !r.GoesOnAlone() { // otherwise the earlier child continues beside this one
		if keys := x.state.ChildKeys(e.Request.Path); keys != start.ID {
			start.Keys = keys
		}
	}
	switch {
	case e.Detached && r.EndsWithParent():
		start.Origin, start.Beside = &x.instance, &Parent{Instance: x.instance, Effect: e.ID, Deadline: e.Request.Deadline}
		x.adopt(e)
	case e.Detached:
		start.Origin = &x.instance
	default:
		start.Parent = &Parent{Instance: x.instance, Effect: e.ID}
		if !r.GoesOnAlone() {
			start.Parent.Deadline = e.Request.Deadline
		}
		start.Reserved = x.invocation.Reserved
		x.adopt(e)
	}
	x.batch.outbox = append(x.batch.outbox, Outgoing{Child: start})
}

// adopt notes which child an effect is about.
func (x *Execution) adopt(e interpreter.Effect) {
	if r, err := interpreter.ReadChildRequest(e.Request.Body); err == nil { // it was written by the task
		x.children[e.ID] = child{store.Instance{Namespace: r.Namespace, ID: x.childID(e)}, r.ParentClose}
	}
}

// childID returns the id of the run that an effect starts.
func (x *Execution) childID(e interpreter.Effect) string {
	return interpreter.ChildID(x.instance.Namespace, x.instance.ID, e.Request.Path)
}

// closing returns the message to a child that its parent no longer waits for.
func (c child) closing(terminated bool, reason string) []Outgoing {
	if c.close == dsl.ParentCloseAbandon {
		return nil
	}
	verb := store.VerbCancel
	if terminated || c.close == dsl.ParentCloseTerminate {
		verb = store.VerbTerminate
	}
	m := inbox.Message{Type: interpreter.EventCancel, Reason: reason, Terminated: verb == store.VerbTerminate}
	return []Outgoing{{Deliver: &OutgoingMessage{To: c.instance, Verb: verb, Message: m}}}
}

// MayStemFrom reports whether, by its ID, i may have been started by root or one of its descendants. Only its Invocation proves it.
func MayStemFrom(i, root store.Instance) bool {
	return strings.HasPrefix(i.ID, interpreter.ChildPrefix(root.ID))
}
