// Package activity decides the transitions of the activities of outside workers: who takes them, which of their four timeouts passed, when
// they are retried, and which events their run receives. Stores keep the results; workers of the engine and servers request the
// transitions. It is pure: it reads no store and no clock.
package activity

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Activity is the state of an activity. Stores keep it as JSON.
type Activity struct {
	Type     string                       `json:"y"`
	Queue    string                       `json:"-"` // kept in the store's record
	Key      string                       `json:"k"` // idempotency key, the same for all attempts
	Pointer  string                       `json:"p"` // of the task
	Timeouts interpreter.ActivityTimeouts `json:"o,omitzero"`
	Retry    interpreter.ActivityRetry    `json:"r"`
	Deadline time.Time                    `json:"d,omitzero"` // schedule to close: set once, for all attempts

	Attempt     int                `json:"n"` // that is to be made or is being made; counts from 1
	ScheduledAt time.Time          `json:"s"`
	Available   time.Time          `json:"-"`          // for a worker; zero while one has it
	Parked      time.Time          `json:"a,omitzero"` // the former Available, if its run was suspended; zero unless it waits for the resume
	Nonce       string             `json:"c,omitempty"`
	Worker      string             `json:"w,omitempty"` // that has it, or had it last
	StartedAt   time.Time          `json:"t,omitzero"`  // when the worker took it
	HeartbeatAt time.Time          `json:"h,omitzero"`  // the last one of this attempt
	Progress    *interpreter.Value `json:"g,omitempty"` // of the last heartbeat that had any, also of an earlier attempt
	Failure     *errors.Error      `json:"e,omitempty"` // of the attempt before
}

// Taken reports whether a worker has the activity.
func (a *Activity) Taken() bool { return a.Available.IsZero() && a.Parked.IsZero() }

// IsParked reports whether the activity waits until its run is resumed. Its deadlines still apply.
func (a *Activity) IsParked() bool { return !a.Parked.IsZero() }

// Since returns since when, or from when on, the activity waits for a worker; zero while one has it.
func (a *Activity) Since() time.Time {
	if a.IsParked() {
		return a.Parked
	}
	return a.Available
}

// Delayed reports whether the activity waits for the time of its next attempt.
func (a *Activity) Delayed(now time.Time) bool { return a.Available.After(now) }

// New returns an activity that is scheduled now.
func New(r interpreter.Request, of interpreter.ActivityRequest, now time.Time) *Activity {
	a := &Activity{
		Type: of.Type, Queue: of.Queue, Key: r.Key, Pointer: string(r.Pointer), Timeouts: of.Timeouts, Retry: of.Retry,
		Attempt: max(1, r.Attempt), ScheduledAt: now, Available: now,
	}
	if length := of.Timeouts.ScheduleToClose; length > 0 {
		a.Deadline = now.Add(length)
	}
	return a
}

// Deadline is a time at which an attempt ends, or the whole activity.
type Deadline struct {
	Kind      string // one of interpreter.DeadlineScheduleToStart...
	At        time.Time
	StartedAt time.Time // when it began to count
}

// Deadlines returns the deadlines that count now, the outermost first.
func (a *Activity) Deadlines() (all []Deadline) {
	add := func(kind string, length time.Duration, from time.Time) {
		if length > 0 {
			all = append(all, Deadline{kind, from.Add(length), from})
		}
	}
	add(interpreter.DeadlineScheduleToClose, a.Timeouts.ScheduleToClose, a.ScheduledAt)
	if !a.Taken() {
		add(interpreter.DeadlineScheduleToStart, a.Timeouts.ScheduleToStart, a.Since())
		return all
	}
	add(interpreter.DeadlineStartToClose, a.Timeouts.StartToClose, a.StartedAt)
	last := a.StartedAt
	if a.HeartbeatAt.After(last) {
		last = a.HeartbeatAt
	}
	add(interpreter.DeadlineHeartbeat, a.Timeouts.Heartbeat, last)
	return all
}

// First returns the next deadline; ok is false without one.
func (a *Activity) First() (first Deadline, ok bool) {
	for _, d := range a.Deadlines() {
		if !ok || d.At.Before(first.At) {
			first, ok = d, true
		}
	}
	return first, ok
}

// attempt returns the attempt that is being made, as history knows it.
func (a *Activity) attempt() interpreter.Attempt {
	attempt := interpreter.Attempt{Number: a.Attempt}
	if a.Taken() {
		attempt.Worker, attempt.StartedAt = a.Worker, a.StartedAt
	}
	return attempt
}

// AttemptOf returns the attempt in an activity's record: the attempt in progress, or the one that waits for a worker.
func AttemptOf(r *store.Activity) (interpreter.Attempt, error) {
	a, err := Parse(r)
	if err != nil {
		return interpreter.Attempt{}, err
	}
	return a.attempt(), nil
}

// Record returns the record that a store keeps.
func (a *Activity) Record() (*store.Activity, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("write an activity: %w", err)
	}
	decoded := *a
	return &store.Activity{Queue: a.Queue, Available: a.Available, Due: a.first(), Data: data, Decoded: &decoded}, nil
}

// Parse parses the record of a store. The result may be changed, except the values that it refers to.
func Parse(r *store.Activity) (*Activity, error) {
	a := new(Activity)
	if decoded, ok := r.Decoded.(*Activity); ok {
		*a = *decoded
	} else if err := json.Unmarshal(r.Data, a); err != nil {
		return nil, fmt.Errorf("read an activity: %w", err)
	} else if a.Attempt < 1 {
		return nil, fmt.Errorf("read an activity: its attempts count from 1, and this is %d", a.Attempt)
	}
	a.Queue, a.Available = r.Queue, r.Available
	return a, nil
}

// Lacking describes, for people, the awaited activities that a run lacks: their records are missing or damaged. It is empty if no activity
// is missing.
func Lacking(i store.Instance, l *store.Loaded) string {
	if l.Newer != nil {
		return ""
	}
	readable := 0
	for n := range l.Activities {
		if _, err := Parse(&l.Activities[n].Activity); err == nil {
			readable++
		}
	}
	if !l.Lifecycle.LacksActivities(readable) {
		return ""
	}
	return store.LostActivities(i, &l.Lifecycle, readable)
}
