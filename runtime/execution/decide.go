package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// This file is how a session decides, after it has stepped, what its driver has to do.

// decide finds out what is next.
func (s *Execution) decide(now time.Time) {
	s.actions.Tick, s.actions.Place = time.Time{}, len(s.held) > 0 && !s.draining
	idle := len(s.flights) == 0 && len(s.batch.effects) == 0 && len(s.held) == 0 && !s.again && len(s.queue) == 0
	wake := s.wake()
	switch {
	case s.Idle && s.promises():
		s.refrain(now)
	case s.state.Status.Final():
		s.propose(true)
	case s.draining && len(s.flights) == 0 && (s.leaving || !s.mustBegin()):
		s.propose(true)
	case len(s.batch.effects) > 0 && (s.batch.firm || len(s.batch.outbox) > 0 || s.draining), s.batch.full():
		s.propose(false)
	case s.again || len(s.queue) > 0:
		s.actions.Tick = now
	case idle && !s.soon(wake, now):
		s.propose(true)
	case s.batch.firm || len(s.batch.outbox) > 0 || idle && len(s.batch.entries) > 0:
		s.propose(false)
	default:
		s.begin(false)
		s.wait(wake, now)
	}
}

// mustBegin reports whether there is an effect that no other owner would perform once it is stored.
func (s *Execution) mustBegin() bool {
	return slices.ContainsFunc(s.batch.effects, func(e interpreter.Effect) bool { return e.AtMostOnce })
}

// promises reports whether there is an effect of which nobody knows once what led to it is stored.
func (s *Execution) promises() bool {
	return slices.ContainsFunc(s.batch.effects, func(e interpreter.Effect) bool { return e.Detached })
}

// refrain gives the instance back as it is stored, but not at once: it would be taken again.
func (s *Execution) refrain(now time.Time) {
	if s.giveBy.IsZero() {
		s.giveBy = now.Add(store.Grace / 2) // its owner must not seem to hang
	}
	if s.actions.Tick = s.giveBy; s.draining || !now.Before(s.giveBy) {
		s.batch = batch{}
		c := s.record.GiveBack(s.instance, s.token, now)
		c.Next += s.refused
		s.actions.Commit = &c
	}
}

// wait asks to be called when the next wait ends, and when what is in flight has to be made visible.
func (s *Execution) wait(wake, now time.Time) {
	s.actions.Tick = wake
	if len(s.batch.entries) > 0 || s.batch.resumed {
		visible := s.batch.begun.Add(s.CheckpointAfter)
		if !now.Before(visible) {
			s.propose(false)
		} else if wake.IsZero() || visible.Before(wake) {
			s.actions.Tick = visible
		}
	}
}

// soon reports whether a wait is so short that the instance stays in memory.
func (s *Execution) soon(wake, now time.Time) bool {
	return !wake.IsZero() && wake.Sub(now) < s.ParkAfter && !s.draining
}

// wake returns when the instance wants to be looked at.
func (s *Execution) wake() time.Time {
	if s.state.Status != interpreter.StatusPending {
		return s.state.NextWake()
	}
	wake := store.Moment(s.record.Started)
	if deadline := store.Moment(s.record.Deadline); !deadline.IsZero() && deadline.Before(wake) {
		wake = deadline
	}
	return wake
}

// begin starts what may be started; over says that the session ends.
func (s *Execution) begin(over bool) {
	for _, e := range s.batch.effects {
		switch {
		case e.Detached: // nobody after this would know of it
			s.actions.Perform = append(s.actions.Perform, e)
		case !over && (s.leaving || s.draining && !e.AtMostOnce): // the next owner starts it; what comes next stores that
			s.state.DeferEffect(e.ID)
		case over || !s.state.Awaits(e.ID): // the next owner starts it, or nobody
		default:
			s.actions.Perform = append(s.actions.Perform, e)
			s.flights[e.ID] = true
		}
	}
	s.batch.effects = nil
	if s.batch.begun.IsZero() {
		s.batch.begun = s.Clock()
	}
}
