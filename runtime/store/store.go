// Package store defines Store, the interface between the durable engine and a store, and Lifecycle, the record of a run that every store
// keeps. Package storetest tests implementations.
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

// Store keeps runs. Each method is one transition: atomic, durable when it returns, and safe to repeat. A refused transition returns a
// *Refusal. After any other error the outcome is unknown; repeating the call with the same operation determines it.
//
// The store's clock decides every deadline and lease (docs/engine.md, Time). Times passed by a caller cannot make anything expire.
type Store interface {
	// Start creates a run. Starting it again with the same Invocation returns the result of the first start, with Again set. Starting it
	// with another Invocation is refused as a Conflict.
	Start(context.Context, Start) (Started, error)
	// Claim takes ready runs and returns their complete state. The nonce identifies the operation: claiming again with the same nonce
	// returns the runs that are still held by it. Runs that cannot be claimed are omitted.
	Claim(context.Context, Claim) ([]Claimed, error)
	// Commit stores the changes of steps. Next identifies the operation: a second commit of the same token to the same Next returns the
	// result of the first. A refused commit may still be repeated by a delayed message, so that a different commit of the same version must
	// use a different Next. A commit that was overtaken is refused as a Conflict.
	Commit(context.Context, Commit) (Committed, error)
	// Renew prolongs the leases of a worker in all partitions in which it holds runs. In a partition that is missing from the answer the
	// worker lost its lease: other workers took its runs, or may take them. An expired lease is prolonged if nothing was taken from the
	// worker.
	Renew(context.Context, Renew) ([]Renewed, error)
	// Promote makes due runs ready: a wake-up is due, the owner's lease expired, or the owner missed a deadline or gives the run up. Runs
	// that are not due are skipped.
	Promote(context.Context, Promote) (Promoted, error)
	// Deliver puts a message into a run's inbox. ID is the operation; it is remembered for a day.
	Deliver(context.Context, Delivery) error
	// Command puts an operator's command into a run's inbox if its state allows it. ID is the operation.
	Command(context.Context, Command) error
	// Relay deletes outbox entries that have been delivered.
	Relay(ctx context.Context, partition int, entries []string) error
	// Scrub compares some runs with the indexes of their partition and repairs the differences.
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
	// Definition returns the definition under a key; an unknown key is refused as NoSuch.
	Definition(ctx context.Context, key string) ([]byte, error)
	// Definitions returns the keys of the definitions that begin with a prefix, sorted.
	Definitions(ctx context.Context, prefix string) ([]string, error)
	// DefinitionsBy returns the definitions whose keys begin with a prefix, by their keys. All of them are in memory at the same time.
	DefinitionsBy(ctx context.Context, prefix string) (map[string][]byte, error)
}

// Presence determines which workers are present. Changes are visible immediately.
type Presence interface {
	// Attend announces a worker until leave is called or its process ends.
	Attend(ctx context.Context, worker string) (leave func())
	// Attending returns the present workers among the given workers.
	Attending(ctx context.Context, workers []string) ([]string, error)
}

// Reader are the methods that read from a store. Results may be outdated when they are returned.
type Reader interface {
	// Poll returns the work of a partition, at most n items of each kind. Expired runs are included only on request.
	Poll(ctx context.Context, partition, n int, expired bool) (Work, error)
	// Written returns the number of writes to each partition. While the number is the same as at the last Poll, there is no new work. The
	// cost is low for any number of partitions.
	Written(ctx context.Context) ([]Written, error)
	// Drift counts the repairs that Scrub would make in a partition: index entries that are missing, duplicate, or at the wrong place
	// according to the record of the run. The cost is low for any number of runs.
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
	// List returns runs of a partition, newest first, after the cursor of a page or of one of its runs from an earlier call. An empty
	// cursor begins the list, and is returned at its end. An invalid cursor may be refused as NoSuch.
	List(ctx context.Context, partition int, cursor string, n int) (Page, error)
	// Upcoming returns the runs that wait for a time before until, the runs with an activity that is due before it, and all runs that may
	// be claimed or are held by a worker. A run may be listed several times.
	Upcoming(ctx context.Context, partition int, until time.Time) ([]Instance, error)
	// History returns entries of a run from the given position on, which counts from 0.
	History(ctx context.Context, i Instance, from, n int) ([]StoredEntry, error)
	// Payload returns data of a run that is kept apart.
	Payload(ctx context.Context, i Instance, ref string) ([]byte, error)
	// Statistics counts a partition's runs.
	Statistics(ctx context.Context, partition int) (Statistics, error)
	// Layout returns the values that were fixed when the deployment was created.
	Layout() Layout
	// Hints returns a channel with hints about runs that became ready or received a message. Hints only reduce latency: they may be missing
	// or wrong. The channel is closed when ctx ends.
	Hints(ctx context.Context) <-chan Hint
}

// Hint reports that there may be work in a partition.
type Hint struct {
	Partition int
	Mail      Instance // a run that received a message while it is held; zero for none
	Queue     string   // in which an activity has become available; empty for none
}

// Layout is fixed when a deployment is made, and checked whenever a store is opened.
type Layout struct {
	Deployment string
	Partitions int
	Schema     int
}

// Schema is the version of the stored data. A store of another version is refused.
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
	Invocation []byte        // identifies this start; opaque to the store
	Delay      time.Duration // before the run is ready
	Deadline   time.Time     // when the run ends in any case; zero for never
	Timeout    time.Duration // after which it ends in any case, from now on; 0 for never
	Urgent     bool          // its time is already running, so that it is as urgent as runs that began
	// Imported is the run as another store holds it; nil for a new run.
	Imported *Imported
	// Family is the run that has led to this one, and FamilyMax how many of its family may start in a partition
	// within a day; 0 for a run that leads its own. One more is refused as TooMany.
	Family    Instance
	FamilyMax int
	// Asked is the count of this start, if an event of another run caused it and no commit counted it. A start above the limit is refused
	// as TooMany.
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
	Worker    string        // the claiming worker: letters and digits
	Nonce     string        // random; part of the tokens
	Lease     time.Duration // length of the worker's lease in the partition, from now on
	// Has are needs that the worker has: it takes runs too that are not ready, and wait for one of them.
	Has []Need
	// Unreadable is called with the runs that cannot be claimed because they cannot be read, possibly more than once per run; may be nil.
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
	Activities []StoredActivity // activities that did not end, by their effects
	// Newer is the error of an activity that was written by a newer build and cannot be read; nil if there is no such activity.
	Newer error
}

// Message is something in a run's inbox; opaque to the store.
type Message []byte

// Commit contains the changes of steps and the next state of the run.
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
	// Invocation replaces the invocation of the run; nil leaves it unchanged.
	Invocation []byte
	Entries    [][]byte // of history
	Records    int      // number of records in Entries
	Payloads   map[string][]byte
	Outbox     [][]byte
	Asked      Asked // counts of the entries of Outbox
	// Activities are the activities that the steps scheduled or no longer wait for.
	Activities []ActivityChange
	Read       int // messages of the inbox that the steps have consumed

	Status   interpreter.Status // the run's phase now
	Reason   string             // why it is closed; empty otherwise
	Failure  Failure            // how it has failed; zero otherwise
	Attempts int64              // the number of the last attempt of a task that was tried again since the last commit; 0 for none
	Awaits   int64              // how many activities the run waits for
	Parked   int64              // how many of them the owner knows to be parked: Lifecycle.Parked as it has read it
	Retrying bool               // a task is tried again, or waits for that
	// TimesOut reports that the steps ended a scope because its deadline passed. The commit is refused as a Conflict while there are
	// messages that the steps have not consumed, since one of them may have extended that deadline in time.
	TimesOut bool
	// Last applies the same check to a commit that ends the run: messages that arrived before the end belong into the history.
	Last     bool
	Wake     time.Time // when the run wants to be looked at; zero for never
	Deadline time.Time // the earliest deadline in force; zero for none
	Release  bool      // gives the token back; a closed instance is released always
	// AwaitsSlot reports that the owner only waits for a slot from now on. If the owner is lost, the run is not to blame.
	AwaitsSlot bool
	Ready      bool // with Release: there is immediately more to do
	// Needs, with Release and without Ready, are the requirements for a worker to continue the run before its time comes.
	Needs Needs
	// Listens are the events that the run listens for now.
	Listens Listens
	Waits   interpreter.Waits // causes for which its tasks wait
	Trouble Trouble           // the current error; zero if there was no error or it was overcome
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

// Promote contains runs of one partition that may be due.
type Promote struct {
	Partition int
	Instances []Instance
	// Gone are workers whose leases are deleted if they hold nothing, and the lease expired or belongs to Worker.
	Gone []string
	// Worker is set if this worker gives up the runs that it holds; it is empty for due runs. Died reports that the run itself prevented
	// the worker from continuing. This counts as the loss of an owner.
	Worker string
	Died   bool
	// Busy is set with Worker if this worker keeps the runs: it still works on their wake-ups that passed. The runs count as hanging when
	// HangTolerance has passed from now on. Runs whose wake-up did not pass are skipped. Worker omits a run whose deadline passed during its
	// work, so that another owner keeps the deadline.
	Busy bool
	// MaxDeaths is how many owners may be lost at one step before the run is quarantined; 0 for DefaultMaxDeaths.
	MaxDeaths int64
	// Unreadable is called with the runs that are unchanged because they cannot be read, possibly more than once per run; may be nil.
	Unreadable func(Unreadable)
}

// Promoted is the answer to Promote.
type Promoted struct {
	Ready int // runs that became ready
	At    time.Time
}

// HangTolerance is how long an owner may let a wake-up or deadline pass before the run is taken from it.
const HangTolerance = 2 * time.Second

// DefaultMaxDeaths is the default number of owners that may be lost at one step before the run is quarantined. After twice as many losses
// the run is no longer checked, not even at its deadline, since the owners that only had to end it in time were lost too.
const DefaultMaxDeaths = 5

// Delivery is a message on its way to a run.
type Delivery struct {
	To      Instance
	ID      string
	Message Message
	// MessageAt makes the message if the message contains its time of delivery by the store's clock. The actual delivery may be later by up
	// to StampTolerance. If MessageAt is nil, Message is used.
	MessageAt func(time.Time) Message
	// Late is added to the history of a run that ended within the last day, in place of the message; nil refuses the delivery as Closed.
	Late *interpreter.ReportedLate
	// Most is how many messages may wait for the run, with this one; one more is refused as Limit. 0 is any number.
	Most int
}

// StampTolerance is the maximum delay between the time in a message and its delivery.
const StampTolerance = time.Second

// Command is a request of an operator to a run.
type Command struct {
	To      Instance
	ID      string
	Verb    Verb
	Message Message // message to the owner
	// Before is when the command comes too late by the store's clock: it is refused as TimedOut then; zero for never.
	Before time.Time
	// Continuation is the run that VerbContinue records, and After the continuation recorded before. Of two concurrent requests, one is
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
	// VerbContinue records the run that continues in the place of this run, and sends no message. It is allowed in every state, and refused
	// unless the current continuation is After.
	VerbContinue Verb = "continue"
)

// Drift asks to compare the entries of a partition's indexes with its runs, N of them at a time.
type Drift struct {
	Partition int
	Compared  int // number before; lost ones are counted from 0
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
	// Adopt takes over the partition as it is and invalidates all tokens. With Loss, it does so only if the partition lost writes and was
	// not adopted since; Scrubbed.Adopted reports the result.
	Adopt, Loss bool
	// Check only reports the repairs and changes nothing.
	Check bool
	// Only chooses the runs that are compared; nil for all. If it is set, entries that belong to no run are not looked for.
	Only func(Instance) bool
	// Registry compares entries of the registry with the lists of their kinds, instead of runs. It may read the names of all keys of the store.
	Registry bool
}

// Chooses reports whether a run is compared.
func (s *Scrub) Chooses(i Instance) bool { return s.Only == nil || s.Only(i) }

// Scrubbed is the answer to Scrub.
type Scrubbed struct {
	Cursor   string // for the next call; empty at the end
	Compared int
	Repaired []string // descriptions of the repairs, for people
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

// Written is the number of writes to a partition.
type Written struct {
	Writes int64 // another number after each write; never negative, unless the partition has to be polled in any case
	At     time.Time
	Lease  time.Time // when the first lease ends or ended; zero without leases
}

// Work is the work of a partition.
type Work struct {
	At     time.Time
	Writes int64      // to the partition before; see Written
	Begun  []Instance // that may be claimed, before all that is new; the longest ready first
	New    []Instance // that may be claimed
	Due    []Instance // runs that are due or whose owner hangs; the longest overdue first
	Ended  []Ended    // leases
	Next   time.Time  // when the first instance or activity that is not due yet will be; zero for never
	Lease  time.Time  // when the first of the unexpired leases ends; zero for never
	Outbox []Outgoing
	Needs  []Need // needs that runs wait for, possibly incomplete, and one reserved need for all of them; see Needing
	// Activities are the due activities, the longest overdue first.
	Activities []ActivityID
	Expired    []Instance // closed, the oldest first; see Closed
	Closed     time.Time  // when the first of Expired closed
}

// Ended is an expired lease.
type Ended struct {
	Worker    string
	Instances []Instance // that the worker holds and that are not due anyway, as many as were asked for
}

// AddEnded adds the expired lease of a worker and the runs that it holds.
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
	Unreadable []Unreadable // runs of this page that cannot be read
}

// Listed is a run in a list.
type Listed struct {
	Instance   Instance
	Lifecycle  Lifecycle
	Invocation []byte
	Cursor     string // for a list that continues after this run
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
	Held                           int64     // held by workers; included in the waiting runs
	Quarantined                    int64     // runs that remain unchanged until an operator releases them; included in the waiting runs
	Retrying, Backlog              int64     // runs that retry a task, and the part of them that waits for the retry without an owner
	Oldest                         time.Time // when the longest waiting ready run became ready; zero without ready runs
	Unreadable                     int64     // runs that a worker, or Scrub, could not read
	// Repairs is the number of repairs by Scrub. Each indicates a bug or lost writes.
	Repairs int64
	Losses  int64 // how often the partition was found to have lost writes
	Jumps   int64 // how often the store's clock has jumped, and time in the partition has not followed
}

// Total returns the sum of the counts of all partitions.
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

// Check reports how a store's layout differs from the requested one.
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
