package execution

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// A quarantined run does no work, but its deadlines hold (promises 182). Only the timeout expressions of a run that has not
// started are still evaluated.

func (x *Execution) quarantined() bool { return x.stored.Reason == store.Quarantined }

// confine ends the run if a deadline passed that ends it independently of its expressions: a deadline of the workflow itself, or of a task
// without an enclosing try that could catch the timeout. Any other deadline leads to work, and is handled when the run is released. Until
// then the run is given back with the time of its next deadline.
func (x *Execution) confine() {
	now := x.Clock()
	end, first, event := x.terms()
	if end.IsZero() || now.Before(end) {
		c := x.stored.GiveBack(x.instance, x.token, now)
		c.Next, c.Wake, c.Deadline, c.Ready = c.Next+x.refused, end, first, false
		x.actions.Commit = &c
		return
	}
	for _, e := range interpreter.Children(x.program, x.state) {
		x.adopt(e)
	}
	x.step(event)
	if !x.state.Status.Final() {
		x.fail(fmt.Errorf("the deadline at %s has passed and does not end the run", end))
		return
	}
	x.commit(true)
}

// terms returns when the run ends at the latest, when its first deadline passes, and the event with which it is stepped then.
func (x *Execution) terms() (end, first time.Time, event interpreter.Event) {
	if x.state.Status == interpreter.StatusPending {
		first = x.unbegun().NextDeadline()
		return first, first, x.invocation.Start(x.program, x.stored)
	}
	return interpreter.LatestEnd(x.program, x.state), x.state.NextDeadline(), interpreter.Due{}
}

// unbegun returns the state with which a pending run will begin. A timeout whose expression fails sets no deadline. The run would fault, but that is work.
func (x *Execution) unbegun() *interpreter.State {
	s, _ := interpreter.StateAtStart(x.program, x.invocation.NewState(x.instance), x.invocation.Start(x.program, x.stored))
	return s
}
