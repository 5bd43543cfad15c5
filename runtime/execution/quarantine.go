package execution

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// This file is what goes on of an instance that is quarantined: its time, and nothing else (promises.md 182). None of its
// tasks goes on, no effect is performed, no message is heard, and of its expressions only those are evaluated that say how
// long a run may take which has not got so far yet.

func (s *Execution) quarantined() bool { return s.record.Reason == store.Quarantined }

// confine ends the instance if a deadline has passed that ends it whatever its expressions say: one of the workflow's own,
// or one of a task around which no try could take the timeout. Any other deadline leads to work, and is decided when the
// instance is released. Until then it is given back, to be looked at when it ends.
func (s *Execution) confine() {
	now := s.Clock()
	end, first, event := s.terms()
	if end.IsZero() || now.Before(end) {
		c := s.record.GiveBack(s.instance, s.token, now)
		c.Next, c.Wake, c.Deadline, c.Ready = c.Next+s.refused, end, first, false
		s.actions.Commit = &c
		return
	}
	for _, e := range interpreter.Children(s.program, s.state) {
		s.adopt(e)
	}
	s.step(event)
	if !s.state.Status.Final() {
		s.fail(fmt.Errorf("the deadline at %s has passed and does not end the run", end))
		return
	}
	s.propose(true)
}

// terms returns when the instance ends at the latest, when its first deadline passes, and the event that tells it so.
func (s *Execution) terms() (end, first time.Time, event interpreter.Event) {
	if s.state.Status == interpreter.StatusPending {
		start := s.info.Start(s.program, s.record)
		// A timeout that cannot be told is no deadline: the run would fault, but that is work.
		begun, _ := interpreter.StateAtStart(s.program, s.instance.Namespace, s.instance.ID, start)
		return begun.NextDeadline(), begun.NextDeadline(), start
	}
	return interpreter.LatestEnd(s.program, s.state), s.state.NextDeadline(), interpreter.Due{}
}
