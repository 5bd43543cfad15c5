package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
)

// Task is an attempt to perform an activity.
type Task struct {
	Type    string
	Queue   string
	Input   json.RawMessage
	Attempt int    // counts from 1
	Key     string // idempotency key, the same for all attempts
	Run     Run
	Pointer string // of the task in its document
	// Deadline is when nobody waits for this attempt any more, by this machine's clock; zero for never. Heartbeats move it only if it is
	// theirs.
	Deadline time.Time
	// Heartbeats is how long the server waits for a heartbeat; 0 if it waits for none.
	Heartbeats time.Duration
	// Progress is what the last heartbeat told that had any, also one of an earlier attempt; nil if none had.
	Progress json.RawMessage

	token  string
	worker *Worker
	stop   context.CancelCauseFunc
}

// Run is the run that an activity belongs to.
type Run struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// String returns namespace/id.
func (r Run) String() string { return r.Namespace + "/" + r.ID }

// Decode converts the input into a Go value, as encoding/json does.
func (t *Task) Decode(into any) error { return json.Unmarshal(t.Input, into) }

// The errors with which the context of an activity ends, besides that of its deadline.
var (
	// ErrCancelled says that nobody waits for the activity any more.
	ErrCancelled = errors.New("nobody waits for the activity any more")
	// ErrSuperseded says that another attempt has replaced this one, or that its time was over.
	ErrSuperseded = errors.New("another attempt of the activity has replaced this one")
)

func superseded(err error) bool { return errors.Is(err, ErrCancelled) || errors.Is(err, ErrSuperseded) }

// Heartbeat tells the server that the activity is being performed, and how far it has come: of any Go type that encoding/json would
// write; nil repeats what was told before. An activity with a heartbeat timeout needs one within each such time. While the server cannot be
// reached it is told again, until ctx ends. If the activity is not to go on, the context of the function ends, and the error is ErrCancelled
// or ErrSuperseded.
func (t *Task) Heartbeat(ctx context.Context, progress any) error {
	beat := heartbeat{Token: t.token}
	if progress != nil {
		data, err := json.Marshal(progress)
		if err != nil {
			return fmt.Errorf("write the progress: %w", err)
		}
		beat.Progress = data
	}
	for failures := 1; ; failures++ {
		cancelled, err := t.worker.api.heartbeat(ctx, beat)
		var refused *APIError
		switch known := errors.As(err, &refused); {
		case err == nil && !cancelled:
			return nil
		case err == nil:
			t.stop(ErrCancelled)
			return ErrCancelled
		case known && refused.isSuperseded():
			t.stop(ErrSuperseded)
			return ErrSuperseded
		case known && !refused.passes() || ctx.Err() != nil:
			return err
		}
		t.worker.c.Log.Warn("a heartbeat has not arrived; it is sent again", "type", t.Type, "run", t.Run.String(), "attempt", t.Attempt, "error", err)
		pause(ctx, failures)
	}
}

// context returns a context that ends when the attempt does.
func (t *Task) context(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	if t.Deadline.IsZero() {
		return ctx, stop
	}
	ctx, release := context.WithDeadline(ctx, t.Deadline)
	return ctx, func(cause error) { stop(cause); release() }
}

// reportUntil returns until when it makes sense to report what has ended now.
func (t *Task) reportUntil(now time.Time) time.Time {
	if t.Deadline.IsZero() {
		return now.Add(reportFor)
	}
	return t.Deadline
}

// reportFor is how long a report is tried that has no deadline.
const reportFor = 5 * time.Minute

// Error is how an activity has failed.
type Error struct {
	Type         string // a URI, or the name of a standard type; runtime if empty
	Title        string
	Detail       string
	Status       int
	NonRetryable bool // there is to be no other attempt
}

// Error returns the detail, or the type if there is none.
func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	return "the activity has failed: " + e.Type
}
