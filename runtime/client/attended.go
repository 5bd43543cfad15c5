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
		isWorker = len(presence.Serving(all, runs...)) > 0 || err != nil
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

// needsPerformers says which performers a worker needs for the effects that none has begun, and which of them are missing here.
func (d *Description) needsPerformers() string {
	p := d.Program.Performers()
	waits := slices.ContainsFunc(d.OpenTasks, func(o interpreter.OpenTask) bool {
		return o.Route == interpreter.RoutePerform && (o.Deferred || o.Effect != 0 && !d.attended())
	})
	if len(p.Needed) == 0 || !waits || d.Status == store.Quarantined {
		return ""
	}
	text := " It needs a worker with a performer of " + strings.Join(p.Needed, ", ")
	if len(p.Missing) > 0 {
		text += "; this program has none of " + strings.Join(p.Missing, ", ")
	}
	return text + "."
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
