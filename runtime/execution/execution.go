// Package execution decides how one run continues at its owner: the steps, commits, effects and cancellations, and their times. Workers
// drive it with goroutines and real time, simulations with virtual time. It has no side effects: it performs no effect, reads no store and
// no clock, and starts no goroutine.
package execution

import (
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/store"
)

// Execution is a run at its owner. Its driver reports events by calling its methods, and then carries out its Actions. It is not safe for
// concurrent use.
//
// The rule that makes it safe: nothing starts before everything that it depends on is stored. The only exception are the direct
// consequences of the start, whose time is fixed in the store. They are the same when the start is repeated.
type Execution struct {
	Config
	instance   store.Instance
	token      store.Token
	invocation *Invocation
	program    *interpreter.Program // nil until it is loaded
	state      *interpreter.State
	stored     store.Lifecycle // as it was stored last
	loading    loading
	migration  migration
	pinned     pinned // the invocation and program as they were last stored

	refused    int64                  // commits to this version that were refused
	conflicts  int                    // number of them refused as a Conflict
	surprises  int                    // number of them refused because an activity was not in the state that the dismissing commit expected
	dismissed  []store.ActivityChange // with their expected records, by the last refused commit
	unanswered int                    // times that the commit on its way was not answered
	// excess is why the run ends, if a commit to this version has asked for more than may be asked for; nil otherwise.
	excess *errors.Error

	queue         []interpreter.Event // that have not been stepped yet
	overtakes     bool                // changes of deadlines go before messages of the queue that came earlier
	ended         []interpreter.Event // while the run is reloaded: ends of effects that are not stored
	inFlight      map[interpreter.EffectID]bool
	children      map[interpreter.EffectID]child
	activities    map[interpreter.EffectID]known // activities that the run waits for
	parked        []store.StoredActivity         // activities that were parked when the run was read
	batch         batch
	again         bool // the last step has left work to do
	messagesFirst bool // messages came before the start of the run was stored: they are stepped before its start
	terminated    bool // the cancel that ended it was a terminate

	slots    slots
	lacking  []left     // effects that the owner does not perform
	held     [][]string // needs of tasks that the last step held back
	draining bool       // nothing more is started that another owner could start
	leaving  bool       // nothing more is started

	releaseAt time.Time // when an idle owner gives it back, since it would have to perform something
	callAt    time.Time // the next timer, apart from slots.handOverAt; zero for none
	// lingerUntil is until when the run stays in memory because an activity may end soon; zero if none may.
	lingerUntil time.Time

	actions Actions
}

// Config is the shared configuration of all executions of an owner.
type Config struct {
	// Clock estimates the time by the store's clock, in whole milliseconds. It never goes back and is never ahead.
	Clock           func() time.Time
	LoadWithin      time.Duration // how long a run is held without its program being loaded
	ParkAfter       time.Duration // how short a wait has to be for the run to stay in memory
	CheckpointAfter time.Duration // how long an effect may be in flight before it is stored
	Limits          limits.Set
	// Late is called with the delay after which each timer or deadline is handled; may be nil.
	Late func(time.Duration)
	// Idle reports that the owner performs no effects. Effects that its commit would oblige it to perform are not stored.
	Idle bool
	// Has reports whether the owner meets the need of an effect; nil if it meets every need.
	Has func(store.Need) bool
	// Lingers decides for which activities a run stays in memory, for a few times ParkAfter; nil for none.
	Lingers LingerPolicy
	// Waits takes a place for a run that waits for messages from others, unless it has one, and reports success; nil without such places.
	// Such a run needs no slot.
	Waits func() bool
	// StepWaits is called before and after each wait of a step for its turn to build much data (see expr.Places); may be nil.
	StepWaits func(is bool)
	// Begins reports whether an effect of a task queue may begin now; nil if every effect may. An effect that may begin keeps its permit
	// until the run no longer waits for it.
	Begins func(id interpreter.EffectID, queue string) bool
}

// Actions are the next actions of the driver, in this order. The driver clears Cancel, Perform, Yield and Fetch after carrying them out;
// the answer clears the rest.
type Actions struct {
	Cancel  []interpreter.EffectID    // effects in flight that the run no longer waits for
	Perform []interpreter.Effect      // their ends are reported to Finished, except for detached effects
	AskSlot bool                      // a slot to perform effects; the answer goes to SlotFree or NoSlot
	Resting bool                      // the run performs nothing for a while, or only waits for messages: SlotLeft reports that another run took its slot
	Yield   bool                      // the run is for another owner: not to be claimed again for a moment
	Done    bool                      // the execution is over, and so is its use of a slot; nothing else counts
	Failed  error                     // the error if it could not continue: the run keeps its lease until it expires
	Load    string                    // the digest of the definition to load; the answer goes to Loaded or NotLoaded
	Reload  bool                      // the run as it is stored now, for Reloaded
	Commit  *store.Commit             // to be stored; the answer goes to Committed. While it is there it is to be sent again
	History []interpreter.HistoryStep // history added by Commit, for observers
	Fetch   bool                      // the messages of the inbox, for Fetched
	CallAt  time.Time                 // when to call TimePassed, by the store's clock; zero for never
}

// ErrLeaseLost is why an execution fails whose owner cannot rely on its lease any more.
var ErrLeaseLost = errors.New("the lease is lost")

// New returns the execution of a run that was claimed.
func New(c Config, claimed *store.Claimed) (*Execution, error) {
	invocation, err := InvocationOf(claimed.Instance, claimed.Invocation)
	if err != nil {
		return nil, err
	}
	x := &Execution{
		Config: c, instance: claimed.Instance, token: claimed.Token, invocation: invocation, stored: claimed.Lifecycle,
		inFlight: map[interpreter.EffectID]bool{},
	}
	x.load(claimed)
	return x, nil
}

// Actions returns the next actions of the driver.
func (x *Execution) Actions() *Actions {
	x.actions.AskSlot = x.needsSlot()
	x.actions.CallAt = x.nextCall()
	return &x.actions
}

// nextCall returns when the driver has to call TimePassed.
func (x *Execution) nextCall() time.Time {
	return interpreter.Earlier(x.callAt, x.slots.handOverAt)
}

// Instance returns the name of the run.
func (x *Execution) Instance() store.Instance { return x.instance }

// Token returns the right to write to it.
func (x *Execution) Token() store.Token { return x.token }

// Invocation returns the invocation of the run.
func (x *Execution) Invocation() *Invocation { return x.invocation }

// Program returns the program of the run; nil until it is loaded.
func (x *Execution) Program() *interpreter.Program { return x.program }

// Events returns the number of events in the run's history, including events that are not stored yet.
func (x *Execution) Events() int64 { return x.stored.Records + int64(x.batch.events) }

// Outcome returns the outcome of the run, if it ended.
func (x *Execution) Outcome() Outcome { return NewOutcome(x.state, x.batch.at) }

// Awaits reports whether the run waits for an effect.
func (x *Execution) Awaits(id interpreter.EffectID) bool { return x.state != nil && x.state.Awaits(id) }

// Awaited returns the stored time at which the owner has to look at the run, and the stored deadline. Each is zero for none.
func (x *Execution) Awaited() (wake, deadline time.Time) { return x.stored.Wake, x.stored.Deadline }

// Finished handles the end of an effect that was performed here.
func (x *Execution) Finished(ev interpreter.Finished) {
	delete(x.inFlight, ev.Effect)
	x.queue = append(x.queue, ev)
	x.advance()
}

// MailArrived reports that the inbox may hold messages.
func (x *Execution) MailArrived() { x.actions.Fetch = true }

// Fetched handles the messages of the inbox.
func (x *Execution) Fetched(messages []store.Message) error {
	waiting := 0
	for _, ev := range x.queue {
		if message, ok := ev.(received); ok {
			waiting += message.messages
		}
	}
	x.batch.read += waiting // they are in the inbox, but not to be queued twice
	err := x.receive(messages)
	x.batch.read -= waiting
	if err == nil {
		x.advance()
	}
	return err
}

// Lacks reports that the owner lacks something for an effect that was begun, of which nothing has happened: it is left to another owner that has
// it.
func (x *Execution) Lacks(e interpreter.Effect, need string) {
	delete(x.inFlight, e.ID)
	if x.state.Awaits(e.ID) {
		x.state.LeaveEffect(e.ID, need)
		x.lacking = append(x.lacking, left{effect: e, need: store.NewNeed(append(slices.Clone(e.Needs), need)...)})
	}
	x.advance()
}

// TimePassed reports that time has passed.
func (x *Execution) TimePassed() { x.advance() }

// LeaseLost reports that the owner can no longer rely on its lease, and why. Only detached effects still start: once they are stored, no
// other owner knows of them.
func (x *Execution) LeaseLost(why error) {
	if x.actions.Done {
		return
	}
	x.cancelAll(always)
	x.fail(why)
}

// fail ends the execution without giving the run back, since its further behavior is unknown.
func (x *Execution) fail(err error) {
	x.refuseReports()
	x.actions.Done, x.actions.Failed = true, err
}
