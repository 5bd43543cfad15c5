package execution

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// This file is how a session steps its run: what comes in, and what the steps want.

// advance steps what is there and decides what to do about it. While a commit is on its way, everything waits.
func (s *Execution) advance() {
	if s.actions.Commit != nil || s.actions.Reload || s.actions.Done {
		return
	}
	if s.quarantined() {
		s.confine()
		return
	}
	for len(s.queue) > 0 && !s.batch.full() {
		ev := s.queue[0]
		s.queue = s.queue[1:]
		s.step(ev)
	}
	now := s.Clock()
	if s.state.Status == interpreter.StatusPending && s.starts() { // a message came shortly before
		s.step(s.info.Start(s.program, s.record))
	}
	if wake := s.state.NextWake(); s.again || !wake.IsZero() && !now.Before(wake) {
		s.step(interpreter.Due{})
	}
	s.limit()
	s.unhold()
	s.decide(now)
}

// limit ends an instance whose history has become too long: most likely a loop that nothing ends.
func (s *Execution) limit() {
	if s.state.Status.Final() {
		return
	}
	err := s.Limits.Check(limits.History, int(s.record.Records)+s.batch.records)
	if err == nil {
		err = s.Limits.Check(limits.HistoryBytes, s.state.HistoryBytes())
	}
	if err != nil {
		s.step(interpreter.Abort{Error: err})
		s.again = false
	}
}

// full reports whether so much waits for a commit that nothing more is done before it.
func (b *batch) full() bool { return b.records >= maxBatch || b.bytes >= maxBatchBytes }

func (s *Execution) step(ev interpreter.Event) {
	now := s.Clock()
	at := now
	switch e := ev.(type) {
	case interpreter.Start:
		at = s.startTime(now)
		if s.record.Expires(at) {
			e.StartedAt = time.Time{}
			ev = e
		}
		// The store has not fixed the time; or whoever comes after this owner has to know the deadlines of what kills it.
		s.batch.firm = s.batch.firm || s.record.Status == interpreter.StatusPending || s.record.Deaths > 0
	case received:
		ev = e.Event
		s.batch.read++
		s.batch.firm = true
	case interpreter.Finished:
		s.batch.results = append(s.batch.results, ev)
	}
	if at.Before(s.batch.at) {
		at = s.batch.at
	}
	if s.batch.begun.IsZero() {
		s.batch.begun = now
	}
	if d := s.state.NextDeadline(); at.Before(d) && (s.batch.guard.IsZero() || d.Before(s.batch.guard)) {
		s.batch.guard = d
	}
	result := interpreter.Step(s.program, s.state, ev, at)
	s.batch.at, s.again = at, result.Again
	s.note(ev, at, result)
	for _, id := range result.Cancels {
		s.unwanted(id)
	}
	for _, e := range result.Effects {
		s.wanted(e)
	}
}

// startTime is the time of the step that starts the instance: when its first owner took it, or now if it ends before
// its time or does nothing but end.
func (s *Execution) startTime(now time.Time) time.Time {
	if s.quarantined() {
		return now
	}
	if at := store.Moment(s.record.Started); s.record.Status != interpreter.StatusPending && !now.Before(at) {
		return at
	}
	return now
}

// note keeps what a step has done for the commit.
func (s *Execution) note(ev interpreter.Event, at time.Time, result interpreter.Result) {
	if len(result.History) == 0 {
		return
	}
	if _, first := ev.(interpreter.Start); !first {
		s.batch.firm = true
	}
	entry := interpreter.NewHistoryStep(ev, at, result)
	if result.Withheld {
		state, err := s.state.Snapshot()
		if err != nil {
			s.fail(err)
			return
		}
		entry.State = &state
	}
	if err := s.encodeEntry(entry); err != nil {
		s.fail(fmt.Errorf("write what has happened: %w", err))
		return
	}
	s.batch.entries = append(s.batch.entries, entry)
	s.batch.records += len(result.History)
}

// wanted takes in an effect that a step wants.
func (s *Execution) wanted(e interpreter.Effect) {
	s.batch.bytes += len(e.Request.Body)
	switch {
	case s.flights[e.ID]: // a step that is repeated wants it again
	case e.Route == interpreter.RoutePublish:
		s.batch.outbox = append(s.batch.outbox, Outgoing{Publish: e.Request.Body})
	case e.Route == interpreter.RouteChild:
		s.start(e)
	case e.AtMostOnce && !e.Detached && (s.unplaced || s.draining):
		s.state.DeferEffect(e.ID)
		s.held = append(s.held, e)
	default:
		s.batch.firm = s.batch.firm || e.AtMostOnce || e.Detached
		s.batch.effects = append(s.batch.effects, e)
	}
}

// unwanted takes in that nobody waits for an effect any more. What is performed here is cancelled when that is stored.
func (s *Execution) unwanted(id interpreter.EffectID) {
	if c, ok := s.children[id]; ok {
		delete(s.children, id)
		s.batch.outbox = append(s.batch.outbox, c.closing(s.killed)...)
	}
	is := func(e interpreter.Effect) bool { return e.ID == id }
	s.batch.effects = slices.DeleteFunc(s.batch.effects, is)
	s.held = slices.DeleteFunc(s.held, is)
}
