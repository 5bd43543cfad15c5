package runtime

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// Session is an instance in the hands of an owner. It decides what is stepped, stored, performed and cancelled, and
// when (design.md section 6), and does none of it itself: its driver calls one of its methods and then does what Wants
// says. Worker is its driver with goroutines and real time; simulations are others. A Session is not safe for use by
// several goroutines.
//
// The rule that makes it safe: nothing starts before all that it depends on is stored. The one exception is what
// directly follows the start, which the store has fixed in time: it comes out the same when it is repeated.
type Session struct {
	SessionConfig
	instance Instance
	token    Token
	info     *Info
	program  *interpreter.Program
	state    *interpreter.State
	record   Record // as it was stored last

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

	wants Wants
}

// SessionConfig is what all sessions of an owner share.
type SessionConfig struct {
	// Clock estimates the time by the store's clock, in whole milliseconds. It never goes back and is never ahead.
	Clock   func() time.Time
	Linger  time.Duration // how short a wait has to be for the instance to stay in memory
	Visible time.Duration // how long an effect may be in flight before it is stored
	Limits  limits.Set
	// Idle says that the owner performs nothing. What somebody has to perform once it is stored is not stored.
	Idle bool
}

// NewSession returns the session of an instance that was claimed; Begin comes next. What is stored decides the
// program: see Definition of its Info.
func NewSession(c SessionConfig, claimed Claimed, info *Info, p *interpreter.Program) *Session {
	return &Session{SessionConfig: c, instance: claimed.Instance, token: claimed.Token, info: info, program: p}
}

// child is an effect that another instance performs.
type child struct {
	instance Instance
	close    string
}

// Wants is what the driver of a session has to do, in this order. What it has done it clears.
type Wants struct {
	Cancel  []interpreter.EffectID // effects in flight that nobody waits for any more
	Perform []interpreter.Effect   // their ends go to Finished
	Done    bool                   // the session is over; nothing else counts
	Failed  error                  // why, if it could not go on: the instance is left to its lease
	Reload  bool                   // the instance as it is stored now, for Reloaded
	Commit  *Commit                // to be stored; the answer goes to Committed
	Place   bool                   // a place to perform effects, for Placed
	Mail    bool                   // the messages of the inbox, for Mail
	Tick    time.Time              // when to call Tick, by the store's clock; zero for never
}

// Wants returns what there is to do.
func (s *Session) Wants() *Wants { return &s.wants }

// batch is what has happened since the last commit.
type batch struct {
	at      time.Time // of the last step
	begun   time.Time // of the first
	results []interpreter.Event
	entries []interpreter.Entry
	encoded [][]byte             // the entries as they are stored
	apart   map[string][]byte    // what of them is kept apart
	bytes   int                  // of all of that, and of requests
	effects []interpreter.Effect // to start when the batch is stored
	outbox  []outgoing
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
func (s *Session) Begin(c Claimed) error {
	s.flights = map[interpreter.EffectID]bool{}
	s.ordered = c.Token.Epoch == 1 && len(c.Inbox) > 0
	if err := s.restore(c); err != nil {
		return err
	}
	s.advance()
	return nil
}

// restore makes the session's state of what is stored.
func (s *Session) restore(c Claimed) (err error) {
	s.record, s.batch, s.queue, s.held = c.Record, batch{}, nil, nil
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
func (s *Session) starts() bool {
	now := s.Clock()
	return !now.Before(Moment(s.record.Started)) || s.record.Deadline != 0 && !now.Before(Moment(s.record.Deadline))
}

// receive queues messages that have not been stepped.
func (s *Session) receive(inbox []Message) error {
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
func (s *Session) resume() {
	goesOn := func(id interpreter.EffectID) bool { return s.flights[id] || s.told(id) }
	for _, i := range interpreter.Interrupted(s.program, s.state, goesOn) {
		e := i.Effect
		switch {
		case e.Kind == dsl.KindRunWorkflow:
			s.adopt(e)
		case i.Error != nil:
			s.queue = append(s.queue, interpreter.Finished{Effect: e.ID, Error: i.Error})
		case goesOn(e.ID): // or has ended
		case i.Held:
			s.held = append(s.held, e)
		case e.Once:
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
func (s *Session) told(id interpreter.EffectID) bool {
	return slices.ContainsFunc(s.results, func(ev interpreter.Event) bool { return ev.(interpreter.Finished).Effect == id })
}

// Finished takes in the end of an effect that was performed here.
func (s *Session) Finished(ev interpreter.Finished) {
	delete(s.flights, ev.Effect)
	s.queue = append(s.queue, ev)
	s.advance()
}

// Mail takes in the messages of the inbox.
func (s *Session) Mail(inbox []Message) error {
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
func (s *Session) Tick() { s.advance() }

// Unplaced says that the owner has no place to perform effects: they may have to wait. What must not be performed twice
// is stored as held, and does not begin until Placed.
func (s *Session) Unplaced() { s.unplaced = true }

// Placed takes in that effects can be performed at once.
func (s *Session) Placed() {
	if s.unplaced {
		s.unplaced, s.wants.Place = false, false
		s.advance()
	}
}

// unhold lets the held effects begin, once that is stored.
func (s *Session) unhold() {
	if s.unplaced || s.draining || len(s.held) == 0 {
		return
	}
	for _, e := range s.held {
		s.state.Begin(e.ID)
	}
	s.batch.effects = append(s.batch.effects, s.held...)
	s.batch.firm, s.held = true, nil
}

// Drain makes the session end as soon as nothing is in flight.
func (s *Session) Drain() {
	s.draining = true
	s.advance()
}

// HandOver gives the instance back as it is: what is in flight is cancelled, and another owner performs it again.
// Unbegun are the effects in flight that the owner has not begun.
func (s *Session) HandOver(unbegun ...interpreter.Effect) {
	s.draining, s.leaving = true, true
	for _, e := range unbegun {
		s.state.Hold(e.ID)
	}
	for id := range s.flights {
		s.wants.Cancel = append(s.wants.Cancel, id)
	}
	clear(s.flights)
	s.advance()
}

// advance steps what is there and decides what to do about it. While a commit is on its way, everything waits.
func (s *Session) advance() {
	if s.wants.Commit != nil || s.wants.Reload || s.wants.Done {
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
func (s *Session) limit() {
	if s.state.Status.Final() {
		return
	}
	err := s.Limits.Check(limits.History, int(s.record.Records)+s.batch.records)
	if err == nil {
		err = s.Limits.Check(limits.HistoryBytes, s.state.History())
	}
	if err != nil {
		s.step(interpreter.Abort{Error: err})
		s.again = false
	}
}

// full reports whether so much waits for a commit that nothing more is done before it.
func (b *batch) full() bool { return b.records >= maxBatch || b.bytes >= maxBatchBytes }

func (s *Session) step(ev interpreter.Event) {
	now := s.Clock()
	at := now
	switch e := ev.(type) {
	case interpreter.Start:
		at = s.startTime(now)
		if s.record.expires(at) {
			e.At = time.Time{}
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
func (s *Session) startTime(now time.Time) time.Time {
	if s.quarantined() {
		return now
	}
	if at := Moment(s.record.Started); s.record.Status != interpreter.StatusPending && !now.Before(at) {
		return at
	}
	return now
}

// note keeps what a step has done for the commit.
func (s *Session) note(ev interpreter.Event, at time.Time, result interpreter.Result) {
	if len(result.Records) == 0 {
		return
	}
	if _, first := ev.(interpreter.Start); !first {
		s.batch.firm = true
	}
	entry := interpreter.NewEntry(ev, at, result)
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
	s.batch.records += len(result.Records)
}

// wanted takes in an effect that a step wants.
func (s *Session) wanted(e interpreter.Effect) {
	s.batch.bytes += len(e.Request.Body)
	switch {
	case s.flights[e.ID]: // a step that is repeated wants it again
	case e.Kind == dsl.KindEmit:
		s.batch.outbox = append(s.batch.outbox, outgoing{Publish: e.Request.Body})
	case e.Kind == dsl.KindRunWorkflow:
		s.start(e)
	case e.Once && !e.Detached && (s.unplaced || s.draining):
		s.state.Hold(e.ID)
		s.held = append(s.held, e)
	default:
		s.batch.firm = s.batch.firm || e.Once || e.Detached
		s.batch.effects = append(s.batch.effects, e)
	}
}

// unwanted takes in that nobody waits for an effect any more. What is performed here is cancelled when that is stored.
func (s *Session) unwanted(id interpreter.EffectID) {
	if c, ok := s.children[id]; ok {
		delete(s.children, id)
		s.batch.outbox = append(s.batch.outbox, c.closing(s.killed)...)
	}
	is := func(e interpreter.Effect) bool { return e.ID == id }
	s.batch.effects = slices.DeleteFunc(s.batch.effects, is)
	s.held = slices.DeleteFunc(s.held, is)
}

// decide finds out what is next.
func (s *Session) decide(now time.Time) {
	s.wants.Tick, s.wants.Place = time.Time{}, len(s.held) > 0 && !s.draining
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
		s.wants.Tick = now
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
func (s *Session) mustBegin() bool {
	return slices.ContainsFunc(s.batch.effects, func(e interpreter.Effect) bool { return e.Once })
}

// promises reports whether there is an effect of which nobody knows once what led to it is stored.
func (s *Session) promises() bool {
	return slices.ContainsFunc(s.batch.effects, func(e interpreter.Effect) bool { return e.Detached })
}

// refrain gives the instance back as it is stored, but not at once: it would be taken again.
func (s *Session) refrain(now time.Time) {
	if s.giveBy.IsZero() {
		s.giveBy = now.Add(Grace / 2) // its owner must not seem to hang
	}
	if s.wants.Tick = s.giveBy; s.draining || !now.Before(s.giveBy) {
		s.batch = batch{}
		c := s.record.giveBack(s.instance, s.token, now)
		c.Next += s.refused
		s.wants.Commit = &c
	}
}

// wait asks to be called when the next wait ends, and when what is in flight has to be made visible.
func (s *Session) wait(wake, now time.Time) {
	s.wants.Tick = wake
	if len(s.batch.entries) > 0 || s.batch.resumed {
		visible := s.batch.begun.Add(s.Visible)
		if !now.Before(visible) {
			s.propose(false)
		} else if wake.IsZero() || visible.Before(wake) {
			s.wants.Tick = visible
		}
	}
}

// soon reports whether a wait is so short that the instance stays in memory.
func (s *Session) soon(wake, now time.Time) bool {
	return !wake.IsZero() && wake.Sub(now) < s.Linger && !s.draining
}

// wake returns when the instance wants to be looked at.
func (s *Session) wake() time.Time {
	if s.state.Status != interpreter.StatusPending {
		return s.state.NextWake()
	}
	wake := Moment(s.record.Started)
	if deadline := Moment(s.record.Deadline); !deadline.IsZero() && deadline.Before(wake) {
		wake = deadline
	}
	return wake
}

// begin starts what may be started; over says that the session ends.
func (s *Session) begin(over bool) {
	for _, e := range s.batch.effects {
		switch {
		case e.Detached: // nobody after this would know of it
			s.wants.Perform = append(s.wants.Perform, e)
		case !over && (s.leaving || s.draining && !e.Once): // the next owner starts it; what comes next stores that
			s.state.Hold(e.ID)
		case over || !s.state.Awaits(e.ID): // the next owner starts it, or nobody
		default:
			s.wants.Perform = append(s.wants.Perform, e)
			s.flights[e.ID] = true
		}
	}
	s.batch.effects = nil
	if s.batch.begun.IsZero() {
		s.batch.begun = s.Clock()
	}
}

// Committed takes in the answer to the commit.
func (s *Session) Committed(c Committed, err error) {
	sent := s.wants.Commit
	s.wants.Commit = nil
	switch RefusedAs(err) {
	case TimedOut, Guard, Conflict: // what happened is told again, of what is stored now
		s.wants.Reload = true
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
	s.record.Status, s.record.Wake, s.record.Deadline = sent.Status, Millis(sent.Wake), Millis(sent.Deadline)
	s.record.Records += int64(sent.Records)
	for id := range s.flights {
		if !s.state.Awaits(id) {
			s.wants.Cancel = append(s.wants.Cancel, id)
		}
	}
	if over {
		s.wants.Done = true
		return
	}
	s.wants.Mail = c.Mail
	s.advance()
}

// Reloaded takes in the instance as it is stored, and tells it again what has happened since.
func (s *Session) Reloaded(c Claimed) error {
	s.results = s.batch.results
	s.wants.Reload = false
	if err := s.restore(c); err != nil {
		return err
	}
	s.queue = append(s.queue, s.results...)
	s.results = nil
	s.advance()
	return nil
}

// fail ends the session without giving the instance back: nobody knows what it would do next.
func (s *Session) fail(err error) {
	s.wants.Done, s.wants.Failed = true, err
}
