package client

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// This file tells whether anybody works on an instance, and who has told it to stop.

// attended reports whether the worker that holds the instance is there, as far as the store knows.
func (d *Description) attended() bool { return d.Lifecycle.Held() && !d.Gone }

// gone reports whether the worker that holds an instance has not renewed its lease in time, or cannot be there.
func (d *Description) gone(alone bool) bool {
	return d.Lifecycle.Held() && (alone || d.Lifecycle.Lease <= store.Millis(d.At))
}

// unclaimed is from when on it is told for how long nobody has taken what is ready.
const unclaimed = 5 * time.Second

// waitsForWorker tells that the instance is ready, and since when if that is long.
func (d *Description) waitsForWorker() string {
	text := "it is ready and waits for a worker to take it"
	since := d.Lifecycle.Ready
	if since < 0 {
		since += store.Urgency
	}
	if waits := d.At.Sub(store.Moment(since)); since > 0 && waits >= unclaimed {
		text += fmt.Sprintf(", since %s, for %s: no worker has a place for it, or none is there", clockTime(store.Moment(since)), dsl.RoughSpan(waits))
	}
	return text + "."
}

// reasonWithin is how many of the last entries of history are searched for the reason of a suspension: what was in flight
// then may have ended since.
const reasonWithin = 5 * historyPage

// told returns what those said who have cancelled or suspended an instance; empty if they said nothing.
func (c *Client) told(ctx context.Context, d *Description) (reason string, err error) {
	about := interpreter.WorkflowSuspended
	switch {
	case d.Lifecycle.Status == interpreter.StatusCancelled:
		about = interpreter.WorkflowCancelled
	case !d.State.Suspended:
		return "", nil
	}
	_, err = c.History(ctx, d.Instance, max(0, int(d.Lifecycle.Entries)-reasonWithin), func(e HistoryEntry) error {
		for _, r := range e.Events {
			if said, ok := r.Data.(string); ok && r.Type == about {
				reason = said
			}
		}
		return nil
	})
	return reason, err
}

// because is a reason behind what it is for.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", reason)
}
