// Package execution decides how one run goes on in the hands of an owner: what is stepped, stored, performed and cancelled,
// and when. Workers drive it with goroutines and real time, simulations with virtual time. It does nothing itself: it performs
// no effect, reads no store and no clock, and starts no goroutine.
package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// Execution is an instance in the hands of an owner. It decides what is stepped, stored, performed and cancelled, and
// when (design.md section 6), and does none of it itself: its driver calls one of its methods and then does what Actions
// says. Worker is its driver with goroutines and real time; simulations are others. An Execution is not safe for use by
// several goroutines.
//
// The rule that makes it safe: nothing starts before all that it depends on is stored. The one exception is what
// directly follows the start, which the store has fixed in time: it comes out the same when it is repeated.
type Execution struct {
	ExecutionConfig
	instance store.Instance
	token    store.Token
	info     *Invocation
	program  *interpreter.Program
	state    *interpreter.State
	record   store.Lifecycle // as it was stored last

	refused int64 // commits to this version of the record that were refused

	queue    []interpreter.Event // that have not been stepped yet
	results  []interpreter.Event // while the instance is restored: ends of effects that were not stored
	flights  map[interpreter.EffectID]bool
	children map[interpreter.EffectID]child
	batch    batch
	again    bool // the last step has left work to do
	ordered  bool // messages came before anybody could start it: they are heard first
	draining bool // nothing more is started that another owner could start
	leaving  bool // nothing more is started
	killed   bool // the cancel that ended it was a terminate

	unplaced bool                 // its owner has no place to perform effects
	held     []interpreter.Effect // that wait for one, and are stored so
	giveBy   time.Time            // when an idle owner gives it back, since it would have to perform something

	actions Actions
}

// ExecutionConfig is what all sessions of an owner share.
type ExecutionConfig struct {
	// Clock estimates the time by the store's clock, in whole milliseconds. It never goes back and is never ahead.
	Clock           func() time.Time
	ParkAfter       time.Duration // how short a wait has to be for the instance to stay in memory
	CheckpointAfter time.Duration // how long an effect may be in flight before it is stored
	Limits          limits.Set
	// Idle says that the owner performs nothing. What somebody has to perform once it is stored is not stored.
	Idle bool
}

// NewExecution returns the session of an instance that was claimed; Begin comes next. What is stored decides the
// program: see Definition of its Invocation.
func NewExecution(c ExecutionConfig, claimed store.Claimed, info *Invocation, p *interpreter.Program) *Execution {
	return &Execution{ExecutionConfig: c, instance: claimed.Instance, token: claimed.Token, info: info, program: p}
}

// child is an effect that another instance performs.
type child struct {
	instance store.Instance
	close    string
}

// Actions is what the driver of a session has to do, in this order. What it has done it clears.
type Actions struct {
	Cancel  []interpreter.EffectID    // effects in flight that nobody waits for any more
	Perform []interpreter.Effect      // their ends go to Finished
	Done    bool                      // the session is over; nothing else counts
	Failed  error                     // why, if it could not go on: the instance is left to its lease
	Reload  bool                      // the instance as it is stored now, for Reloaded
	Commit  *store.Commit             // to be stored; the answer goes to Committed
	History []interpreter.HistoryStep // what Commit adds to history, for those who watch
	Place   bool                      // a place to perform effects, for Placed
	Mail    bool                      // the messages of the inbox, for Mail
	Tick    time.Time                 // when to call Tick, by the store's clock; zero for never
}

// Actions returns what there is to do.
func (s *Execution) Actions() *Actions { return &s.actions }

// Invocation returns what has started the run.
func (s *Execution) Invocation() *Invocation { return s.info }

// Records returns how many events the run's history has, with those that are not stored yet.
func (s *Execution) Records() int64 { return s.record.Records + int64(s.batch.records) }

// Outcome returns how the run has ended, if it has.
func (s *Execution) Outcome() Outcome {
	return Outcome{
		ID: s.instance.ID, Status: s.state.Status, Output: s.state.Output, Fault: s.state.Fault, TimedOut: s.state.TimedOut,
		StartedAt: s.state.StartedAt, EndedAt: s.batch.at,
	}
}

// batch is what has happened since the last commit.
type batch struct {
	at      time.Time // of the last step
	begun   time.Time // of the first
	results []interpreter.Event
	entries []interpreter.HistoryStep
	encoded [][]byte             // the entries as they are stored
	apart   map[string][]byte    // what of them is kept apart
	bytes   int                  // of all of that, and of requests
	effects []interpreter.Effect // to start when the batch is stored
	outbox  []Outgoing
	guard   time.Time // the earliest deadline that was in force and not passed
	firm    bool      // it has to be stored before effects start
	resumed bool      // effects were performed again
	read    int       // messages of the inbox that were stepped
	records int
}

// maxRefused is how often a commit may be refused while the owner leaves, before the instance is left to its lease.
const maxRefused = 5

// How many records, and how many bytes of them, may wait for a commit while pure work goes on.
const (
	maxBatch      = 2000
	maxBatchBytes = 1 << 20
)

// Begin takes up a claimed instance.
func (s *Execution) Begin(c store.Claimed) error {
	s.flights = map[interpreter.EffectID]bool{}
	s.ordered = c.Token.Epoch == 1 && len(c.Inbox) > 0
	if err := s.restore(c); err != nil {
		return err
	}
	s.advance()
	return nil
}

// restore makes the session's state of what is stored.
func (s *Execution) restore(c store.Claimed) (err error) {
	s.record, s.batch, s.queue, s.held = c.Lifecycle, batch{}, nil, nil
	s.children = map[interpreter.EffectID]child{}
	if c.State.Head == nil {
		s.state = interpreter.NewState(s.instance.Namespace, s.instance.ID)
	} else if s.state, err = interpreter.Restore(s.program, s.instance.Namespace, s.instance.ID, s.info.Input.V, c.State); err != nil {
		return err
	}
	if s.quarantined() {
		return nil
	}
	starts := s.state.Status == interpreter.StatusPending && s.starts()
	if starts && !s.ordered {
		s.queue = append(s.queue, s.info.Start(s.program, s.record))
	}
	if err := s.receive(c.Inbox); err != nil {
		return err
	}
	if starts && s.ordered {
		s.queue = append(s.queue, s.info.Start(s.program, s.record))
	}
	s.resume()
	s.again = s.state.Status == interpreter.StatusRunning // a step may have stopped in the middle of its work
	return nil
}

// starts reports whether the time of a delayed start has come, or will never come.
func (s *Execution) starts() bool {
	now := s.Clock()
	return !now.Before(store.Moment(s.record.Started)) || s.record.Deadline != 0 && !now.Before(store.Moment(s.record.Deadline))
}

// receive queues messages that have not been stepped.
func (s *Execution) receive(inbox []store.Message) error {
	for _, data := range inbox[min(s.batch.read, len(inbox)):] {
		m, err := parseMessage(data)
		if err != nil {
			return err
		}
		ev, err := m.event()
		if err != nil {
			return err
		}
		s.killed = s.killed || m.Terminated
		s.queue = append(s.queue, received{ev})
	}
	return nil
}

// received is an event that came as a message: it is consumed when it is stepped.
type received struct{ interpreter.Event }

// resume prepares the effects that were in flight when an earlier owner lost the instance.
func (s *Execution) resume() {
	goesOn := func(id interpreter.EffectID) bool { return s.flights[id] || s.told(id) }
	for _, i := range interpreter.Interrupted(s.program, s.state, goesOn) {
		e := i.Effect
		switch {
		case e.Route == interpreter.RouteChild:
			s.adopt(e)
		case i.Error != nil:
			s.queue = append(s.queue, interpreter.Finished{Effect: e.ID, Error: i.Error})
		case goesOn(e.ID): // or has ended
		case i.Deferred:
			s.held = append(s.held, e)
		case e.AtMostOnce:
			s.queue = append(s.queue, interpreter.Finished{Effect: e.ID, Error: errors.Communicationf(
				"it was sent at most once, and nobody knows whether it arrived",
			).With("outcome", "unknown")})
		default:
			s.batch.resumed = true
			s.batch.effects = append(s.batch.effects, e)
		}
	}
}

// told reports whether the end of an effect is known, and only not stored yet.
func (s *Execution) told(id interpreter.EffectID) bool {
	return slices.ContainsFunc(s.results, func(ev interpreter.Event) bool { return ev.(interpreter.Finished).Effect == id })
}

// Finished takes in the end of an effect that was performed here.
func (s *Execution) Finished(ev interpreter.Finished) {
	delete(s.flights, ev.Effect)
	s.queue = append(s.queue, ev)
	s.advance()
}

// Mail takes in the messages of the inbox.
func (s *Execution) Mail(inbox []store.Message) error {
	waiting := 0
	for _, ev := range s.queue {
		if _, ok := ev.(received); ok {
			waiting++
		}
	}
	s.batch.read += waiting // they are in the inbox, but not to be queued twice
	err := s.receive(inbox)
	s.batch.read -= waiting
	if err == nil {
		s.advance()
	}
	return err
}

// Tick takes in that time has passed.
func (s *Execution) Tick() { s.advance() }

// Unplaced says that the owner has no place to perform effects: they may have to wait. What must not be performed twice
// is stored as held, and does not begin until Placed.
func (s *Execution) Unplaced() { s.unplaced = true }

// Placed takes in that effects can be performed at once.
func (s *Execution) Placed() {
	if s.unplaced {
		s.unplaced, s.actions.Place = false, false
		s.advance()
	}
}

// unhold lets the held effects begin, once that is stored.
func (s *Execution) unhold() {
	if s.unplaced || s.draining || len(s.held) == 0 {
		return
	}
	for _, e := range s.held {
		s.state.BeginEffect(e.ID)
	}
	s.batch.effects = append(s.batch.effects, s.held...)
	s.batch.firm, s.held = true, nil
}

// Drain makes the session end as soon as nothing is in flight. Unbegun are the effects in flight that the owner has not
// begun: they are left to another one, unless they are known to be started: then no other would.
func (s *Execution) Drain(unbegun ...interpreter.Effect) {
	s.draining = true
	for _, e := range unbegun {
		if !e.AtMostOnce {
			delete(s.flights, e.ID)
			s.state.DeferEffect(e.ID)
		}
	}
	s.advance()
}

// HandOver gives the instance back as it is: what is in flight is cancelled, and another owner performs it again.
// Unbegun are the effects in flight that the owner has not begun.
func (s *Execution) HandOver(unbegun ...interpreter.Effect) {
	s.draining, s.leaving = true, true
	for _, e := range unbegun {
		s.state.DeferEffect(e.ID)
	}
	for id := range s.flights {
		s.actions.Cancel = append(s.actions.Cancel, id)
	}
	clear(s.flights)
	s.advance()
}

// Committed takes in the answer to the commit.
func (s *Execution) Committed(c store.Committed, err error) {
	sent := s.actions.Commit
	s.actions.Commit, s.actions.History = nil, nil
	switch store.RefusedAs(err) {
	case store.TimedOut, store.Guard, store.Conflict: // what happened is told again, of what is stored now
		s.actions.Reload = true
		s.refused++
		if s.leaving && s.refused > maxRefused {
			s.fail(err)
		}
		return
	}
	if err != nil {
		s.fail(err)
		return
	}
	over := sent.Release || sent.Status.Final()
	s.begin(over)
	s.batch = batch{at: s.batch.at}
	s.record.Version, s.refused = sent.Next, 0
	s.record.Status, s.record.Wake, s.record.Deadline = sent.Status, store.Millis(sent.Wake), store.Millis(sent.Deadline)
	s.record.Records += int64(sent.Records)
	for id := range s.flights {
		if !s.state.Awaits(id) {
			s.actions.Cancel = append(s.actions.Cancel, id)
			delete(s.flights, id)
		}
	}
	if over {
		s.actions.Done = true
		return
	}
	s.actions.Mail = c.Mail
	s.advance()
}

// Reloaded takes in the instance as it is stored, and tells it again what has happened since.
func (s *Execution) Reloaded(c store.Claimed) error {
	s.results = s.batch.results
	s.actions.Reload = false
	if err := s.restore(c); err != nil {
		return err
	}
	s.queue = append(s.queue, s.results...)
	s.results = nil
	s.advance()
	return nil
}

// fail ends the session without giving the instance back: nobody knows what it would do next.
func (s *Execution) fail(err error) {
	s.actions.Done, s.actions.Failed = true, err
}
