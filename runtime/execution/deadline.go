package execution

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
)

// Deadlines that change while a run is in progress. Children that the run waits for are informed.

// childrenBefore returns the requests of the children before a step that may move their deadlines.
func (x *Execution) childrenBefore(ev interpreter.Event) []interpreter.Effect {
	if _, ok := ev.(interpreter.SetDeadline); !ok || len(x.children) == 0 {
		return nil
	}
	return interpreter.Children(x.program, x.state)
}

// moveDeadlines informs the children whose deadline moved with their parent's scopes.
func (x *Execution) moveDeadlines(before []interpreter.Effect) {
	was := map[interpreter.EffectID]interpreter.Effect{}
	for _, e := range before {
		was[e.ID] = e
	}
	for _, e := range interpreter.Children(x.program, x.state) {
		c, known := x.children[e.ID]
		old, told := was[e.ID]
		if !known || !told || c.close == dsl.ParentCloseAbandon || old.Request.Deadline.Equal(e.Request.Deadline) {
			continue
		}
		set := interpreter.SetDeadline{Kind: interpreter.DeadlineExecution, Inherited: true, Was: old.Request.Deadline, At: e.Request.Deadline}
		x.batch.outbox = append(x.batch.outbox, Outgoing{Deliver: &OutgoingMessage{To: c.instance, Message: inbox.Message{Type: interpreter.EventDeadline, Deadline: &set}}})
	}
}
