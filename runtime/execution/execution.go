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

// Execution is a run in the hands of an owner. Its driver reports what has happened by calling one of its methods, and
// then does what Actions says. It is not safe for use by several goroutines.
//
// The rule that makes it safe: nothing starts before all that it depends on is stored. The one exception is what
// directly follows the start, which the store has fixed in time: it comes out the same when it is repeated.
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
	pinned     pinned // what it runs as it was stored last

	refused    int64                  // commits to this version that were refused
	conflicts  int                    // those of them that were refused as a Conflict
	surprises  int                    // those of them for which an activity was not any more what the commit had expected when it dismissed it
	dismissed  []store.ActivityChange // with what they must be, by the commit that was refused last
	unanswered int                    // times that the commit on its way was not answered
	// excess is why the run ends, if a commit to this version has asked for more than may be asked for; nil otherwise.
	excess *errors.Error

	queue         []interpreter.Event // that have not been stepped yet
	overtakes     bool                // changes of deadlines go before messages of the queue that came earlier
	ended         []interpreter.Event // while the run is reloaded: ends of effects that are not stored
	inFlight      map[interpreter.EffectID]bool
	children      map[interpreter.EffectID]child
	activities    map[interpreter.EffectID]known // those that the run waits for
	parked        []store.StoredActivity         // those that were parked when the run was read
	batch         batch
	again         bool // the last step has left work to do
	messagesFirst bool // messages came before the start of the run was stored: they are stepped before its start
	terminated    bool // the cancel that ended it was a terminate

	slots    slots
	lacking  []left     // what the owner does not perform
	held     [][]string // what tasks need that the last step has held back
	draining bool       // nothing more is started that another owner could start
	leaving  bool       // nothing more is started

	releaseAt time.Time // when an idle owner gives it back, since it would have to perform something
	callAt    time.Time // the next timer, apart from slots.handOverAt; zero for none
	// lingerUntil is until when the run stays in memory because an activity may end soon; zero if none may.
	lingerUntil time.Time

	actions Actions
}

// Config is what all executions of an owner share.
type Config struct {
	// Clock estimates the time by the store's clock, in whole milliseconds. It never goes back and is never ahead.
	Clock           func() time.Time
	LoadWithin      time.Duration // how long a run is held without its program being loaded
	ParkAfter       time.Duration // how short a wait has to be for the run to stay in memory
	CheckpointAfter time.Duration // how long an effect may be in flight before it is stored
	Limits          limits.Set
	// Late is told how long after its time each timer or deadline is looked at; nil if nobody wants to know.
	Late func(time.Duration)
	// Idle says that the owner performs nothing. What somebody has to perform once it is stored is not stored.
	Idle bool
	// Has reports whether the owner has what an effect needs; nil for whatever it needs.
	Has func(store.Need) bool
	// Lingers says for which activities a run stays in memory, for a few times ParkAfter; nil for none.
	Lingers LingerPolicy
	// Waits takes a place for a run that waits for what others send, unless it has one, and reports whether there was one; nil for none. Such a run
	// needs no slot.
	Waits func() bool
	// Begins reports whether an effect of a task queue may begin now; nil for any. One that may has what it needs for that until nobody waits
	// for it any more.
	Begins func(id interpreter.EffectID, queue string) bool
}

// Actions is what the driver of an execution has to do, in this order. What it has done of Cancel, Perform, Yield and Fetch
// it clears; the rest is cleared by the answer.
type Actions struct {
	Cancel  []interpreter.EffectID    // effects in flight that nobody waits for any more
	Perform []interpreter.Effect      // their ends go to Finished, but for those that are detached
	AskSlot bool                      // a slot to perform effects; the answer goes to SlotFree or NoSlot
	Resting bool                      // the run performs nothing for a while, or only waits for what others send: if others have its slot meanwhile, SlotLeft is called
	Yield   bool                      // the run is for another owner: not to be claimed again for a moment
	Done    bool                      // the execution is over, and so is its use of a slot; nothing else counts
	Failed  error                     // why, if it could not go on: the run is left to its lease
	Load    string                    // the digest of the definition to load; the answer goes to Loaded or NotLoaded
	Reload  bool                      // the run as it is stored now, for Reloaded
	Commit  *store.Commit             // to be stored; the answer goes to Committed. While it is there it is to be sent again
	History []interpreter.HistoryStep // what Commit adds to history, for those who watch
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

// Actions returns what the driver has to do.
func (x *Execution) Actions() *Actions {
	x.actions.AskSlot = x.needsSlot()
	x.actions.CallAt = x.nextCall()
	return &x.actions
}

// nextCall returns when the driver has to call TimePassed.
func (x *Execution) nextCall() time.Time {
	return interpreter.Earlier(x.callAt, x.slots.handOverAt)
}

// Instance returns what is executed.
func (x *Execution) Instance() store.Instance { return x.instance }

// Token returns the right to write to it.
func (x *Execution) Token() store.Token { return x.token }

// Invocation returns what has started the run.
func (x *Execution) Invocation() *Invocation { return x.invocation }

// Program returns what the run runs; nil until it is loaded.
func (x *Execution) Program() *interpreter.Program { return x.program }

// Events returns how many events the run's history has, with those that are not stored yet.
func (x *Execution) Events() int64 { return x.stored.Records + int64(x.batch.events) }

// Outcome returns how the run has ended, if it has.
func (x *Execution) Outcome() Outcome { return NewOutcome(x.state, x.batch.at) }

// Awaits reports whether the run waits for an effect.
func (x *Execution) Awaits(id interpreter.EffectID) bool { return x.state != nil && x.state.Awaits(id) }

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
		if _, ok := ev.(received); ok {
			waiting++
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

// LeaseLost reports that the owner cannot rely on its lease any more, and why. Only effects that nobody waits for still start:
// once they are stored, nobody else knows of them.
func (x *Execution) LeaseLost(why error) {
	if x.actions.Done {
		return
	}
	x.cancelAll(always)
	x.fail(why)
}

// fail ends the execution without giving the run back: nobody knows what it would do next.
func (x *Execution) fail(err error) {
	x.refuseReports()
	x.actions.Done, x.actions.Failed = true, err
}
