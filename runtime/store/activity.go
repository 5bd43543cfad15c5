package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
)

// Activities are units of work that outside workers perform for runs. A store keeps the record of an activity with its run. The store
// itself reads only where the activity is found: in a queue while a worker may take it, and in the index of due activities. Package
// activity decides the transitions of an activity.

// ActivityID names an activity: the effect of a run that it is.
type ActivityID struct {
	Run    Instance
	Effect interpreter.EffectID
}

// String returns namespace/id and the number of the effect, a space between.
func (i ActivityID) String() string { return i.Run.String() + " " + strconv.Itoa(int(i.Effect)) }

// ParseActivityID parses the output of String.
func ParseActivityID(s string) (ActivityID, error) {
	run, effect, _ := strings.Cut(s, " ")
	namespace, id, ok := strings.Cut(run, "/")
	n, err := strconv.Atoi(effect)
	if !ok || err != nil {
		return ActivityID{}, fmt.Errorf("%.200q does not name an activity", s)
	}
	return ActivityID{Instance{namespace, id}, interpreter.EffectID(n)}, nil
}

// Activity is the record of an activity. Times are whole milliseconds by the store's clock.
type Activity struct {
	Queue string
	// Available is since when, or from when on, a worker may take it; zero while a worker has it.
	Available time.Time
	Due       time.Time // when it has to be looked at: the earliest of its deadlines; zero for never
	Data      []byte    // a JSON object, opaque to the store
	// Decoded is the decoded form of Data, set if the package that wrote the record runs in this process. It is not stored and must not be
	// changed.
	Decoded any
}

// String returns the record as stores keep it: the number of its form, times and queue, a space between, and the data after them.
func (a *Activity) String() string {
	return fmt.Sprintf("%d %d %d %s %s", form.Activity, Millis(a.Available), Millis(a.Due), a.Queue, a.Data)
}

// ParseActivity parses the output of String.
func ParseActivity(s string) (Activity, error) {
	number, rest, _ := strings.Cut(s, " ")
	is, err := form.Parse(number)
	parts := strings.SplitN(rest, " ", 4)
	if err != nil || is == form.Activity && len(parts) != 4 {
		return Activity{}, fmt.Errorf("%.200q is not the record of an activity", s)
	}
	if err := form.Check("the activity", is, form.Activity); err != nil {
		return Activity{}, err
	}
	available, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Activity{}, fmt.Errorf("%.200q is not the record of an activity", s)
	}
	due, err := strconv.ParseInt(parts[1], 10, 64)
	if data := parts[3]; err != nil || !strings.HasPrefix(data, "{") || !json.Valid([]byte(data)) {
		return Activity{}, fmt.Errorf("%.200q is not the record of an activity", s)
	}
	return Activity{Queue: parts[2], Available: Moment(available), Due: Moment(due), Data: []byte(parts[3])}, nil
}

// ActivityChange is the change that a transition makes to an activity of a run.
type ActivityChange struct {
	Effect interpreter.EffectID
	// Queue is the queue of the activity.
	Queue string
	// From is the expected current record of the activity. It is nil for a new activity, and for a dismissed activity in any state.
	From  *Activity
	To    *Activity // nil if the activity ended or is dismissed
	Input []byte    // input of a new activity
	// Once is the key under which the store remembers this change for ReportRemembered. If it is empty, nothing is remembered.
	Once string
}

// Queues returns the queues in which the change makes activities available, immediately or later.
func (c *Change) Queues() (all []string) {
	for _, a := range c.Activities {
		if a.To != nil && !a.To.Available.IsZero() && (a.From == nil || a.From.Available.IsZero()) && !slices.Contains(all, a.Queue) {
			all = append(all, a.Queue)
		}
	}
	return all
}

// Transition returns the change that the operation makes to an activity, together with the change of its run. A missing run or activity is
// passed as nil.
func (c *ChangeActivities) Transition(id ActivityID, r *Lifecycle, a *Activity, now time.Time) (*Change, Code) {
	if r == nil {
		return nil, NoSuch
	}
	outcome, code := c.Operation.Transition(id, r, a, now)
	if code != "" {
		return nil, code
	}
	if outcome.To == a {
		return &Change{From: r, To: *r, Done: true}, ""
	}
	change := &Change{From: r, To: *r}
	if outcome.Message != nil {
		delivery := Delivery{To: id.Run, Message: outcome.Message}
		if change, code = delivery.Transition(r, now); code != "" {
			return nil, code
		}
	}
	change.NotBefore, change.Before, change.WithRecord = now, outcome.Before, outcome.WithRecord
	if outcome.Parks {
		change.To.Parked++
		change.Refused = Suspended
	}
	change.Activities = []ActivityChange{{Effect: id.Effect, Queue: a.Queue, From: a, To: outcome.To, Once: c.Operation.Once(id)}}
	return change, ""
}

// StoredActivity is an activity as it is stored with its run.
type StoredActivity struct {
	Effect interpreter.EffectID
	Activity
}

// ActivityOperation is an operation on activities.
type ActivityOperation interface {
	// Transition returns the outcome of the operation for an activity of a run at a time of the store's clock, or the reason why it is
	// refused. a is nil if the activity does not exist.
	Transition(id ActivityID, run *Lifecycle, a *Activity, now time.Time) (*ActivityOutcome, Code)
	// Once returns the key under which the store remembers for ReportRemembered that the operation was done. Repeating the operation is
	// then no refusal. If the key is empty, nothing is remembered.
	Once(id ActivityID) string
}

// ActivityOutcome is the result of an operation on an activity.
type ActivityOutcome struct {
	To *Activity // nil if it ended; the old record if nothing changes
	// Before is the time before which the outcome must be stored. Later it is refused as TimedOut. Zero means any time.
	Before time.Time
	// Message is added to the inbox of the run; nil for no message. If the run is closed, the outcome is refused as Closed.
	Message Message
	// WithRecord requires that the record of the run is unchanged when the outcome is stored.
	WithRecord bool
	// Parks reports that the activity waits until its run is resumed. The outcome is stored, and the operation is refused as Suspended.
	Parks bool
}

// ActivityChanged is the answer about one activity.
type ActivityChanged struct {
	Was      *Activity // before the operation; nil if it was not there
	Activity *Activity // current record; nil if it ended or did not exist
	Input    []byte    // only if it was asked for
	Refused  error     // a refusal, if the operation did not happen
}

// ChangeActivities asks for an operation on activities of one partition.
type ChangeActivities struct {
	Partition  int
	Activities []ActivityID
	Operation  ActivityOperation
	Input      bool // return the inputs of the changed activities
}

// Queue is where activities wait for workers. Each namespace of a partition has its own part of it.
type Queue struct {
	Name      string
	Namespace string
}

// QueueLength is the number of activities of a namespace that wait in a queue of a partition.
type QueueLength struct {
	Queue
	Waiting int64
	Since   time.Time // when the first of them became available, or will
}

// Available asks which activities of some queues of a partition may be taken.
type Available struct {
	Partition int
	Queues    []string // by name
	// Namespaces are the namespaces of the runs; nil for all.
	Namespaces []string
	N          int // maximum number, shared fairly among the namespaces
	// Turn is any number. Callers that poll repeatedly with different turns begin with different namespaces, even if N is small.
	Turn int
}

// Asks reports whether the request includes the activities of a queue.
func (a *Available) Asks(q Queue) bool {
	return slices.Contains(a.Queues, q.Name) && (a.Namespaces == nil || slices.Contains(a.Namespaces, q.Namespace))
}

// Offered is the answer to Available.
type Offered struct {
	Activities []ActivityID
	Next       time.Time // earliest time at which a delayed activity becomes available; zero for never
	At         time.Time
}

// Activities are the methods of a store for activities.
type Activities interface {
	// ChangeActivities applies an operation to each activity that no other caller changes concurrently, and returns the outcomes in the
	// same order. Each activity is a transition of its own.
	ChangeActivities(context.Context, ChangeActivities) ([]ActivityChanged, error)
	// Available returns activities that may be taken.
	Available(context.Context, Available) (Offered, error)
	// QueueLengths returns the queues of a partition in which activities wait.
	QueueLengths(ctx context.Context, partition int) ([]QueueLength, error)
}

// InTurn returns all, beginning with another one for each turn.
func InTurn[T any](turn int, all []T) []T {
	if len(all) < 2 {
		return all
	}
	from := int(uint(turn) % uint(len(all)))
	return slices.Concat(all[from:], all[:from])
}

// Fairly returns at most n of all, one of each part in turn, as long as there are any.
func Fairly[T any](n int, parts [][]T) (some []T) {
	for at := 0; len(some) < n; at++ {
		found := false
		for _, part := range parts {
			if at < len(part) && len(some) < n {
				some, found = append(some, part[at]), true
			}
		}
		if !found {
			break
		}
	}
	return some
}
