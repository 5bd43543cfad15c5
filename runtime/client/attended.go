package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
)

// This file describes whether a worker holds a run, and why it was cancelled or suspended.

// attended reports whether the worker that holds the run is there, as far as the store knows.
func (d *Description) attended() bool { return d.Lifecycle.Held() && !d.Gone }

// attend finds out whether a worker is there: whether the one that holds the run has not renewed its lease in time or cannot be there,
// and whether any other would take the run. As long as that is not known, there is one.
func (c *Client) attend(ctx context.Context, d *Description) {
	isWorker := true
	if c.workers != nil {
		runs := []store.Instance{d.Instance}
		if d.Invocation.Family != nil { // who works on a run works on all that it starts
			runs = append(runs, *d.Invocation.Family)
		}
		all, err := c.workers(ctx)
		serving := presence.Serving(all, runs...)
		if isWorker = len(serving) > 0 || err != nil; err == nil {
			d.workers = append([]presence.Worker{}, serving...)
		}
	}
	d.Gone = d.Lifecycle.Held() && (!isWorker || !d.Lifecycle.Lease.After(d.At))
	d.NoWorker = !isWorker && !d.Lifecycle.Status.Final()
}

// lacksWorker says that no worker is there, and that the run does not go on for that reason.
func (d *Description) lacksWorker() string {
	if !d.NoWorker {
		return ""
	}
	return " No worker is there to go on with it."
}

// unclaimed is how long a run is ready before a description says since when.
const unclaimed = 5 * time.Second

// waitsForWorker says that the run is ready, and since when if that is long.
func (d *Description) waitsForWorker() string {
	text := "it is ready and waits for a worker to take it"
	since := d.Lifecycle.Ready
	if waits := d.At.Sub(since); !since.IsZero() && waits >= unclaimed {
		text += fmt.Sprintf(", since %s, for %s", clockTime(since), duration.FormatRough(waits))
		if !d.NoWorker {
			text += ": no worker has a free slot, or none is there"
		}
	}
	return text + "."
}

// waitsForNeeds says what a task waits for that only a worker with what it needs performs, and whether such a worker is there.
func (d *Description) waitsForNeeds(at string, o interpreter.OpenTask) string {
	text := at + " waits for a worker that " + NeedText(o.Needs)
	since := ""
	if at := d.Lifecycle.NeededSince; !at.IsZero() {
		since = ", for " + duration.FormatRough(max(0, d.At.Sub(at)))
	}
	switch need := store.NewNeed(o.Needs...); {
	case d.workers == nil:
	case !slices.ContainsFunc(d.workers, func(w presence.Worker) bool { return w.Has(need) }):
		text += "; none is there" + since
	default:
		text += "; one is there, and has not taken it yet" + since
	}
	return text
}

// NeedText says what a worker with some needs does: takes the queue gpu, and may run processes.
func NeedText(needs []string) string {
	var all []string
	for _, need := range needs {
		if queue, ok := interpreter.NeededQueue(need); ok {
			all = append(all, "takes the queue "+queue)
		} else if call, ok := interpreter.NeededCall(need); ok {
			all = append(all, "has a performer of "+call)
		} else if need == interpreter.NeedProcesses {
			all = append(all, "may run processes")
		} else {
			all = append(all, "has "+need)
		}
	}
	return strings.Join(all, " and ")
}

// because says by whom and why the run was cancelled or suspended, after what it explains.
func (d *Description) because() (text string) {
	if d.Actor != "" {
		text = " by " + d.Actor
	}
	if d.Reason != "" {
		text += fmt.Sprintf(" (%s)", d.Reason)
	}
	return text
}
