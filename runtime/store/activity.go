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

// Activities are what outside workers perform for runs. A store keeps the record of an activity with its run. What it has to
// know of it is where it is looked for: in a queue while somebody may take it, and among what is due. What becomes of an activity is
// decided in package activity.

// ActivityID names an activity: the effect of a run that it is.
type ActivityID struct {
	Run    Instance
	Effect interpreter.EffectID
}

// String returns namespace/id and the number of the effect, a space between.
func (i ActivityID) String() string { return i.Run.String() + " " + strconv.Itoa(int(i.Effect)) }

// ParseActivityID reads what String returns.
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
	// Decoded is what Data says, if whoever has made the record in this process knows it. It is not stored, and not to be changed.
	Decoded any
}

// String returns the record as stores keep it: the number of its form, times and queue, a space between, and the data after them.
func (a *Activity) String() string {
	return fmt.Sprintf("%d %d %d %s %s", form.Activity, Millis(a.Available), Millis(a.Due), a.Queue, a.Data)
}

// ParseActivity reads what String returns.
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

// ActivityChange is what a transition makes of an activity of a run.
type ActivityChange struct {
	Effect interpreter.EffectID
	// Queue is the queue of the activity.
	Queue string
	// From is what the activity must be; nil for one that is new, and for one that is dismissed whatever has become of it.
	From  *Activity
	To    *Activity // nil: it has ended, or is dismissed
	Input []byte    // of one that is new
	// Once is by what it is remembered for ReportRemembered that the activity was changed so; empty if nothing is to be remembered.
	Once string
}

// Queues returns the queues in which the change makes activities available, at once or later.
func (c *Change) Queues() (all []string) {
	for _, a := range c.Activities {
		if a.To != nil && !a.To.Available.IsZero() && (a.From == nil || a.From.Available.IsZero()) && !slices.Contains(all, a.Queue) {
			all = append(all, a.Queue)
		}
	}
	return all
}

// Transition returns what the operation makes of an activity of a run: the change of the run that comes with it. A run or an activity
// that is not there is nil.
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

// ActivityOperation is what somebody does with activities.
type ActivityOperation interface {
	// Transition returns what the operation makes of an activity of a run at a time of the store's clock, or why it does not happen; a is nil if
	// there is no such activity.
	Transition(id ActivityID, run *Lifecycle, a *Activity, now time.Time) (*ActivityOutcome, Code)
	// Once returns by what the store remembers for ReportRemembered that the operation was done, so that repeating it is no refusal; empty if
	// nothing is to be remembered.
	Once(id ActivityID) string
}

// ActivityOutcome is what becomes of an activity.
type ActivityOutcome struct {
	To *Activity // nil: it has ended; what it was: nothing is changed
	// Before is the time that must not have come when the outcome is stored: it is refused as TimedOut otherwise; zero for any time.
	Before time.Time
	// Message comes into the inbox of the run; nil for none. If the run has ended, the outcome is refused as Closed.
	Message Message
	// WithRecord says that the record of the run decides as well: it must still be what it was.
	WithRecord bool
	// Parks says that the activity waits until its run is resumed: the outcome is stored, and the operation is refused as Suspended.
	Parks bool
}

// ActivityChanged is the answer about one activity.
type ActivityChanged struct {
	Was      *Activity // before the operation; nil if it was not there
	Activity *Activity // as it is now; nil if it has ended, or was not there
	Input    []byte    // only if it was asked for
	Refused  error     // a refusal, if the operation did not happen
}

// ChangeActivities asks for an operation on activities of one partition.
type ChangeActivities struct {
	Partition  int
	Activities []ActivityID
	Operation  ActivityOperation
	Input      bool // the answer has the inputs of those that were changed
}

// Queue is where activities wait for workers. Each namespace of a partition has its own part of it.
type Queue struct {
	Name      string
	Namespace string
}

// QueueLength says how many activities of a namespace wait in a queue of a partition.
type QueueLength struct {
	Queue
	Waiting int64
	Since   time.Time // when the first of them became available, or will
}

// Available asks which activities of some queues of a partition may be taken.
type Available struct {
	Partition int
	Queues    []string // by name
	// Namespaces are those of the runs; nil for all.
	Namespaces []string
	N          int // at most so many, fairly from all namespaces
	// Turn is any number: those who ask again and again with others find now one namespace first, now another, however few they ask for.
	Turn int
}

// Asks reports whether somebody asks for what is in a queue.
func (a *Available) Asks(q Queue) bool {
	return slices.Contains(a.Queues, q.Name) && (a.Namespaces == nil || slices.Contains(a.Namespaces, q.Namespace))
}

// Offered is the answer to Available.
type Offered struct {
	Activities []ActivityID
	Next       time.Time // when the first becomes available of those that are not yet; zero for never
	At         time.Time
}

// Activities is what a store does with activities.
type Activities interface {
	// ChangeActivities makes an operation happen on each activity, if nobody else has changed it meanwhile, and returns the outcomes in
	// the same order. Each activity is a transition of its own.
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
