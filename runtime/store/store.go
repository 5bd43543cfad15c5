// Package store is what the durable engine asks of a store: the contract, Store, and the record of a run that every store keeps,
// Lifecycle. Package storetest holds implementations to it.
package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Store keeps runs. Each method is one transition: atomic, durable when it returns, and safe to repeat. A
// transition that does not happen is a *Refusal; any other error leaves open whether it has happened, and the same
// call with the same operation finds out.
//
// The store's clock decides every deadline and lease (docs/engine.md, Time). Nothing that a caller says of the time
// can make something expire.
type Store interface {
	// Start creates a run that no one has started before. Starting it again with the same Invocation returns what the
	// first start returned, with Again set; with another one it is refused as a Conflict.
	Start(context.Context, Start) (Started, error)
	// Claim takes runs that are ready, and returns their whole state. The nonce is the operation: claiming again
	// with the same one returns what is still held by it. Runs that cannot be claimed are left out.
	Claim(context.Context, Claim) ([]Claimed, error)
	// Commit stores what steps have changed. Next is the operation: the second commit of the same token to the same Next
	// is answered like the first. A commit that was refused may still be on its way a second time, so that another one
	// of the same version must have another Next; what is overtaken so is refused as a Conflict.
	Commit(context.Context, Commit) (Committed, error)
	// Renew prolongs the leases of a worker, in all the partitions in which it holds runs. A partition that is not in
	// the answer has no lease of the worker any more: others have what it held there, or may take it. A lease that has
	// ended goes on if nobody has taken anything from the worker.
	Renew(context.Context, Renew) ([]Renewed, error)
	// Promote makes runs ready whose time has come: a wake-up, the end of their owner's lease, an owner that lets a
	// deadline pass or gives them up. Runs whose time has not come are passed over.
	Promote(context.Context, Promote) (Promoted, error)
	// Deliver puts a message into a run's inbox. ID is the operation; it is remembered for a day.
	Deliver(context.Context, Delivery) error
	// Command puts an operator's command into a run's inbox if its state allows it. ID is the operation.
	Command(context.Context, Command) error
	// Relay deletes outbox entries that have been delivered.
	Relay(ctx context.Context, partition int, entries []string) error
	// Scrub compares some runs with the indexes of their partition and repairs what differs.
	Scrub(context.Context, Scrub) (Scrubbed, error)
	// Remove deletes runs that ended at least Age ago; others are left alone.
	Remove(context.Context, Remove) (removed int, err error)

	Activities
	Reader
	Catalog
	Registry
	Presence
	Permits
	Examiner
}

// Catalog keeps definitions, which belong to no partition and never change.
type Catalog interface {
	// Define stores a definition, which never changes. Another one under the same key is refused as a Conflict.
	Define(ctx context.Context, key string, data []byte) error
	// Undefine deletes the definition under a key if it is this one; another one is refused as a Conflict, and none as NoSuch.
	Undefine(ctx context.Context, key string, data []byte) error
	// Definition returns what is defined under a key; an unknown one is refused as NoSuch.
	Definition(ctx context.Context, key string) ([]byte, error)
	// Definitions returns the keys of all definitions, sorted.
	Definitions(ctx context.Context) ([]string, error)
}

// Presence tells which workers are there, from the moment on at which that changes.
type Presence interface {
	// Attend says that a worker is there, until leave is called or its process has ended.
	Attend(ctx context.Context, worker string) (leave func())
	// Attending returns those of some workers that are there.
	Attending(ctx context.Context, workers []string) ([]string, error)
}

// Reader is what a store can be asked. What it returns may be outdated at once.
type Reader interface {
	// Poll returns what there is to do in a partition, at most n of each kind; what may be removed only if asked for.
	Poll(ctx context.Context, partition, n int, expired bool) (Work, error)
	// Written returns how often each partition was written to. While the number is that of the last Poll, there is
	// nothing new to do. It costs little, however many partitions there are.
	Written(ctx context.Context) ([]Written, error)
	// Drift counts what Scrub would have to repair in a partition: entries of its indexes that are lost, stand twice, or
	// stand elsewhere than their runs say. It costs little, however many runs there are.
	Drift(context.Context, Drift) (Drifted, error)
	// HeldBy returns the runs of a partition that a worker holds.
	HeldBy(ctx context.Context, partition int, worker string) ([]Held, error)
	// Outbox returns at most n entries of a partition's outbox, in their order, after the one with the given ID; an empty
	// one begins at the beginning.
	Outbox(ctx context.Context, partition int, after string, n int) ([]Outgoing, error)
	// Needing returns runs that wait for a need.
	Needing(context.Context, Needing) ([]Needy, error)
	// Listeners returns runs that listen for events. It is not outdated: a run that is left out began to listen after the call began.
	Listeners(context.Context, Listening) (Listeners, error)
	// Load returns a run; an unknown one is refused as NoSuch.
	Load(context.Context, Instance) (Loaded, error)
	// Inbox returns the first n messages of a run that no owner has consumed; none for a run that is not there.
	Inbox(ctx context.Context, i Instance, n int) ([]Message, error)
	// List returns runs of a partition, newest first, behind a cursor that an earlier call returned, for the page or for one of its
	// runs; an empty cursor starts, and is returned at the end. What cannot be a cursor may be refused as NoSuch.
	List(ctx context.Context, partition int, cursor string, n int) (Page, error)
	// Upcoming returns the runs that wait for a time before one, those with an activity that is due before it, and all that may be claimed or
	// that somebody holds. A run may stand there several times.
	Upcoming(ctx context.Context, partition int, until time.Time) ([]Instance, error)
	// History returns entries of a run from the given position on, which counts from 0.
	History(ctx context.Context, i Instance, from, n int) ([]StoredEntry, error)
	// Payload returns data of a run that is kept apart.
	Payload(ctx context.Context, i Instance, ref string) ([]byte, error)
	// Statistics counts a partition's runs.
	Statistics(ctx context.Context, partition int) (Statistics, error)
	// Layout returns what was fixed when the deployment was made.
	Layout() Layout
	// Hints returns a channel of what has become ready or got a message. It only makes things prompt: hints may be
	// missing or wrong. It ends with ctx.
	Hints(ctx context.Context) <-chan Hint
}

// Hint says that there may be something to do in a partition.
type Hint struct {
	Partition int
	Mail      Instance // that has a message while somebody holds it; zero for none
	Queue     string   // in which an activity has become available; empty for none
}

// Layout is fixed when a deployment is made, and checked whenever a store is opened.
type Layout struct {
	Deployment string
	Partitions int
	Schema     int
}

// Schema is the version of what stores hold. A store of another version is refused.
const Schema = 2

// DefaultPartitions is how many partitions a deployment has by default.
const DefaultPartitions = 64

// Token is the right to write to a run. Both parts are compared for equality on every write: after lost writes
// the same epoch may be handed out twice.
type Token struct {
	Epoch int64
	Nonce string
}

// Start is a new instance.
type Start struct {
	Instance   Instance
	Invocation []byte        // everything that makes this start what it is; opaque to the store
	Delay      time.Duration // before the run is ready
	Deadline   time.Time     // when the run ends in any case; zero for never
	Timeout    time.Duration // after which it ends in any case, from now on; 0 for never
	Urgent     bool          // its time runs already, so that it is as urgent as what has begun
	// Imported is the run as another store holds it; nil for one that begins.
	Imported *Imported
	// Family is the run that has led to this one, and FamilyMax how many of its family may start in a partition
	// within a day; 0 for a run that leads its own. One more is refused as TooMany.
	Family    Instance
	FamilyMax int
	// Asked is what the start itself counts for, if an event of another run has led to it and no commit has counted it. One too many is refused as TooMany.
	Asked Asked
}

// Started is the answer to Start.
type Started struct {
	Again bool // the run was there already
	At    time.Time
	// Asked is how many were asked for before, if the start is refused as TooMany because of Start.Asked.
	Asked int64
}

// Claim asks for runs of one partition.
type Claim struct {
	Partition int
	Instances []Instance
	Worker    string        // who claims: letters and digits
	Nonce     string        // random; part of the tokens
	Lease     time.Duration // how long that of the worker lasts in the partition, from now on
	// Has are needs that the worker has: it takes runs too that are not ready, and wait for one of them.
	Has []Need
	// Unreadable is told which runs cannot be claimed since they cannot be read, maybe more than once; nil for nobody.
	Unreadable func(Unreadable)
}

// Claimed is a run in the hands of a worker.
type Claimed struct {
	Instance Instance
	Token    Token
	Loaded
	Inbox []Message
	At    time.Time // by the store's clock
}

// Loaded is a run as it is stored.
type Loaded struct {
	Lifecycle  Lifecycle
	Invocation []byte
	State      interpreter.StoredState
	Activities []StoredActivity // that have not ended, by their effects
	// Newer is why an activity cannot be read that a newer build has written; nil if there is none.
	Newer error
}

// Message is something in a run's inbox; opaque to the store.
type Message []byte

// Commit is what steps have changed, and what is next.
type Commit struct {
	Instance Instance
	Token    Token
	Version  int64 // of the record that the changes are made to
	Next     int64 // of the record then: above Version, and never used for another commit
	// At is the time of the steps; the store must have reached it.
	At time.Time
	// Guard is the earliest deadline that the steps found in force and not passed; zero for none. If the store has
	// reached it, or a deadline of the record that lies after At, the commit is refused as TimedOut: what happened
	// comes too late.
	Guard   time.Time
	Changes interpreter.Changes
	// Invocation replaces that of the run; nil leaves it as it is.
	Invocation []byte
	Entries    [][]byte // of history
	Records    int      // number of records in Entries
	Payloads   map[string][]byte
	Outbox     [][]byte
	Asked      Asked // of what is in Outbox
	// Activities are those that the steps have scheduled, and those that nobody waits for any more.
	Activities []ActivityChange
	Read       int // messages of the inbox that the steps have consumed

	Status   interpreter.Status // the run's phase now
	Reason   string             // why it is closed; empty otherwise
	Failure  Failure            // how it has failed; zero otherwise
	Attempts int64              // the number of the last attempt of a task that was tried again since the last commit; 0 for none
	Awaits   int64              // how many activities the run waits for
	Parked   int64              // how many of them the owner knows to be parked: Lifecycle.Parked as it has read it
	Retrying bool               // a task is tried again, or waits for that
	// TimesOut says that the steps have ended a scope because its deadline has passed. It is refused as a Conflict while there are
	// messages that the steps have not consumed: one of them may have moved that deadline in time.
	TimesOut bool
	// Last says the same of a commit that ends the run: what has come before the end belongs into the history.
	Last     bool
	Wake     time.Time // when the run wants to be looked at; zero for never
	Deadline time.Time // the earliest deadline in force; zero for none
	Release  bool      // gives the token back; a closed instance is released always
	// AwaitsSlot says that the owner does nothing from now on but wait for a slot: if it is lost, the run is not to blame.
	AwaitsSlot bool
	Ready      bool // with Release: there is more to do at once
	// Needs, with Release and without Ready, is what a worker needs to go on before the time of the run comes.
	Needs Needs
	// Listens are the events that the run listens for now.
	Listens Listens
	Waits   interpreter.Waits // what its tasks wait for
	Trouble Trouble           // what went wrong in it; zero if nothing did, or it has been got over
}

// Committed is the answer to Commit.
type Committed struct {
	At   time.Time
	Mail bool // there are messages that the owner has not read
	// Asked is how many were asked for before, if the commit is refused as TooMany.
	Asked int64
}

// Renew prolongs the leases of a worker.
type Renew struct {
	Worker     string
	Partitions []int
	Lease      time.Duration // from now on
}

// Renewed is a partition in which the worker's lease was prolonged.
type Renewed struct {
	Partition int
	At        time.Time
}

// Held is a run that a worker holds.
type Held struct {
	Instance Instance
	Notice   bool // there are messages that the worker may not know of
}

// Promote names instances of one partition whose time may have come.
type Promote struct {
	Partition int
	Instances []Instance
	// Gone are workers whose leases are forgotten if nothing is held by them, and the lease has ended or is that of Worker.
	Gone []string
	// Worker gives the runs up, those of them that it holds; empty for those whose time has come. Died says that it was
	// the run that kept the worker from going on, and counts as the loss of an owner.
	Worker string
	Died   bool
	// MaxDeaths is how many owners may be lost at one step before the run is quarantined; 0 for DefaultMaxDeaths.
	MaxDeaths int64
	// Unreadable is told which runs stay as they are since they cannot be read, maybe more than once; nil for nobody.
	Unreadable func(Unreadable)
}

// Promoted is the answer to Promote.
type Promoted struct {
	Ready int // runs that became ready
	At    time.Time
}

// HangTolerance is how long an owner may let a wake-up or deadline pass before the run is taken from it.
const HangTolerance = 2 * time.Second

// DefaultMaxDeaths is how many owners may be lost at one step before the run is quarantined, unless a Promote says otherwise. After
// twice as many nothing looks after the run any more, not even at its deadline: all the owners that only had to end it in time were lost
// too.
const DefaultMaxDeaths = 5

// Delivery is a message on its way to a run.
type Delivery struct {
	To      Instance
	ID      string
	Message Message
	// MessageAt makes the message, if it says when it was delivered by the store's clock, which may be later by up to StampTolerance;
	// nil for Message.
	MessageAt func(time.Time) Message
	// Late is added to the history of a run that ended within the last day, in place of the message; nil refuses the delivery as Closed.
	Late *interpreter.ReportedLate
	// Most is how many messages may wait for the run, with this one; one more is refused as Limit. 0 is any number.
	Most int
}

// StampTolerance is how much later than it says a message may be delivered.
const StampTolerance = time.Second

// Command is what an operator wants of a run.
type Command struct {
	To      Instance
	ID      string
	Verb    Verb
	Message Message // what the owner gets
	// Before is when the command comes too late by the store's clock: it is refused as TimedOut then; zero for never.
	Before time.Time
	// Continuation is the run that VerbContinue notes, and After the one that is noted until then: of two that are asked for at a time, one is
	// refused.
	Continuation, After string
}

// Verb is a kind of command.
type Verb string

// The verbs.
const (
	VerbCancel    Verb = "cancel"    // refused for closed runs
	VerbTerminate Verb = "terminate" // the same
	VerbSuspend   Verb = "suspend"   // the same
	VerbResume    Verb = "resume"    // the same
	VerbRetry     Verb = "retry"     // refused for runs that are not quarantined
	VerbDeadline  Verb = "deadline"  // refused for closed and quarantined runs
	VerbRetryNow  Verb = "retry-now" // the same
	VerbMigrate   Verb = "migrate"   // refused for closed runs
	// VerbContinue notes which run goes on in the place of this one, and brings no message. It is for runs in every state, and refused unless the
	// continuation is still After.
	VerbContinue Verb = "continue"
)

// Drift asks to compare the entries of a partition's indexes with its runs, N of them at a time.
type Drift struct {
	Partition int
	Compared  int // before; what is lost is counted at 0
	N         int
}

// Drifted is the answer to Drift.
type Drifted struct {
	Wrong    int
	Compared int // for the next call; 0 at the end
}

// Scrub asks to compare the runs of a partition from a cursor on.
type Scrub struct {
	Partition int
	Cursor    string
	N         int
	// Adopt takes the partition as it is: nobody's token counts any more. With Loss it does so only if the partition has
	// lost writes and nobody has adopted it since; Scrubbed.Adopted says whether.
	Adopt, Loss bool
	// Check only tells what would be repaired, and changes nothing.
	Check bool
	// Only chooses the runs that are compared; nil for all. If it is set, entries that belong to no run are not looked for.
	Only func(Instance) bool
}

// Chooses reports whether a run is compared.
func (s *Scrub) Chooses(i Instance) bool { return s.Only == nil || s.Only(i) }

// Scrubbed is the answer to Scrub.
type Scrubbed struct {
	Cursor   string // for the next call; empty at the end
	Compared int
	Repaired []string // what was wrong, for people
	Adopted  bool
	// Unreadable are the runs that cannot be read. They are counted until they can be read, or are gone.
	Unreadable []Unreadable
}

// Remove names closed runs of one partition.
type Remove struct {
	Partition int
	Instances []Instance
	Age       time.Duration // since they closed
}

// Written says how often a partition was written to.
type Written struct {
	Writes int64 // another number after each write; never negative, unless the partition has to be polled in any case
	At     time.Time
	Lease  time.Time // when the first lease ends, or has ended; zero if there is none
}

// Work is what there is to do in a partition.
type Work struct {
	At     time.Time
	Writes int64      // to the partition before; see Written
	Begun  []Instance // that may be claimed, before all that is new; the longest ready first
	New    []Instance // that may be claimed
	Due    []Instance // whose time has come, or whose owner hangs; the longest overdue first
	Ended  []Ended    // leases
	Next   time.Time  // when the first instance or activity that is not due yet will be; zero for never
	Lease  time.Time  // when the first lease ends of those that have not ended; zero for never
	Outbox []Outgoing
	Needs  []Need // for which runs wait, maybe not all, and one that is reserved for all of them; see Needing
	// Activities are those that are due, the longest overdue first.
	Activities []ActivityID
	Expired    []Instance // closed, the oldest first; see Closed
	Closed     time.Time  // when the first of Expired closed
}

// Ended is a lease that has ended.
type Ended struct {
	Worker    string
	Instances []Instance // that the worker holds and that are not due anyway, as many as were asked for
}

// AddEnded adds the lease of a worker that has ended, and what the worker holds.
func (w *Work) AddEnded(worker string, held []Instance) {
	held = slices.DeleteFunc(held, func(i Instance) bool { return slices.Contains(w.Due, i) })
	w.Ended = append(w.Ended, Ended{Worker: worker, Instances: held})
}

// Outgoing is an entry of an outbox.
type Outgoing struct {
	ID   string // unique within the deployment
	Data []byte
}

// Page is a part of a list.
type Page struct {
	Items      []Listed
	Cursor     string       // for the next call; empty at the end
	Unreadable []Unreadable // runs that would stand there
}

// Listed is a run in a list.
type Listed struct {
	Instance   Instance
	Lifecycle  Lifecycle
	Invocation []byte
	Cursor     string // for a list that goes on behind this run
}

// StoredEntry is an entry of history as it is stored.
type StoredEntry struct {
	At    time.Time // of the commit, by the store's clock
	Token Token     // of the owner that committed it
	Data  []byte
}

// Statistics counts a partition's runs.
type Statistics struct {
	Ready, Waiting, Closed, Outbox int64
	Held                           int64     // by workers; they are among those that wait
	Quarantined                    int64     // runs that stay as they are until somebody releases them; they are among those that wait
	Retrying, Backlog              int64     // runs of which a task is tried again, and those of them that wait for that in nobody's hands
	Oldest                         time.Time // since when the run is ready that nobody has taken for the longest time; zero if none is
	Unreadable                     int64     // runs that a worker, or Scrub, could not read
	// Repairs counts what Scrub had to repair: each is a sign of a bug or of lost writes.
	Repairs int64
	Losses  int64 // how often the partition was found to have lost writes
	Jumps   int64 // how often the store's clock has jumped, and time in the partition has not followed
}

// Total returns what all partitions have counted together.
func Total(ctx context.Context, r Reader) (all Statistics, err error) {
	for p := range r.Layout().Partitions {
		st, err := r.Statistics(ctx, p)
		if err != nil {
			return all, err
		}
		all.Ready += st.Ready
		all.Waiting += st.Waiting
		all.Held += st.Held
		all.Closed += st.Closed
		all.Quarantined += st.Quarantined
		all.Retrying += st.Retrying
		all.Backlog += st.Backlog
		all.Outbox += st.Outbox
		all.Oldest = interpreter.Earlier(all.Oldest, st.Oldest)
		all.Unreadable += st.Unreadable
		all.Repairs += st.Repairs
		all.Losses += st.Losses
		all.Jumps += st.Jumps
	}
	return all, nil
}

// ParseEntry reads an entry as stores keep it: time, epoch and nonce of its commit, and its data, a space between.
func ParseEntry(stored []byte) (StoredEntry, error) {
	parts := bytes.SplitN(stored, []byte{' '}, 4)
	if len(parts) != 4 {
		return StoredEntry{}, fmt.Errorf("%.200q is not an entry of a history", stored)
	}
	at, err := strconv.ParseInt(string(parts[0]), 10, 64)
	if err != nil {
		return StoredEntry{}, fmt.Errorf("%.200q is not an entry of a history", stored)
	}
	epoch, err := strconv.ParseInt(string(parts[1]), 10, 64)
	return StoredEntry{At: Moment(at), Token: Token{epoch, string(parts[2])}, Data: parts[3]}, err
}

// otherSchema reports that this build does not read the store.
func (l Layout) otherSchema(needed int) error {
	if l.Schema > needed {
		return fmt.Errorf("the store holds schema %d and this version of swrun needs %d: use the newer version of swrun that made it", l.Schema, needed)
	}
	return fmt.Errorf("the store holds schema %d and this version of swrun needs %d: let its runs end, or export them, with the version of swrun that made it, "+
		"and begin with another file or deployment (redis://...?deployment=NAME)", l.Schema, needed)
}

// Check reports how a store's layout differs from the one that is asked for.
func (l Layout) Check(kept Layout) error {
	switch {
	case kept.Schema != l.Schema:
		return kept.otherSchema(l.Schema)
	case kept.Deployment != l.Deployment:
		return fmt.Errorf("the store is of the deployment %q, not %q: name it as it was made", kept.Deployment, l.Deployment)
	case kept.Partitions != l.Partitions:
		return fmt.Errorf("the store was made with %d partitions, not %d: their number never changes", kept.Partitions, l.Partitions)
	}
	return nil
}
