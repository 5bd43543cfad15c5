package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// This file describes whether a worker holds a run, and why it was cancelled or suspended.

// attended reports whether the worker that holds the run is there, as far as the store knows.
func (d *Description) attended() bool { return d.Lifecycle.Held() && !d.Gone }

// attend determines whether a worker is present for the run: whether the owner missed the renewal of its lease or is absent, and whether
// another worker would take the run. As long as this is unknown, a worker is assumed to be present. attend also reads the rules of the
// queues in which the run may wait.
func (c *Client) attend(ctx context.Context, d *Description) (err error) {
	if d.Lifecycle.Needs != "" || d.Invocation.Reserved != nil || len(d.Activities) > 0 {
		if d.queues, err = queue.Readable(ctx, c.store); err != nil {
			return err
		}
		if d.polled, err = queue.PolledIn(ctx, c.store, d.Instance.Namespace); err != nil {
			return err
		}
	}
	isWorker := true
	if c.workers != nil {
		all, err := c.workers(ctx)
		if err == nil && len(all) > 0 && leaseEnded(&d.Lifecycle, d.At) { // a lease that expired long ago would have been taken over
			err = presence.Unheard(ctx, c.store)
		}
		serving := presence.Serving(all, familyOf(d.Listed())...)
		if isWorker = len(serving) > 0 || err != nil; err == nil {
			d.workers = append([]presence.Worker{}, serving...)
		}
		d.noteUnknown(err)
	}
	d.Gone = d.Lifecycle.Held() && d.Unknown == nil && (!isWorker || leaseEnded(&d.Lifecycle, d.At))
	d.NoWorker = !isWorker && !d.Lifecycle.Status.Final()
	around := surroundings{at: d.At, queues: d.queues, workers: d.workers, known: d.workers != nil, mute: d.Unknown != nil}
	d.Waiting = around.waiting(d.Listed(), slices.Collect(maps.Values(d.Activities)))
	return nil
}

// leaseEnded reports whether a worker holds a run, and has not renewed its lease in time.
func leaseEnded(r *store.Lifecycle, at time.Time) bool { return r.Held() && !r.Lease.After(at) }

// noteUnknown records err as the reason why the presence of a worker is unknown, unless the run ended.
func (d *Description) noteUnknown(err error) {
	if !d.Lifecycle.Status.Final() {
		errors.As(err, &d.Unknown)
	}
}

// lacksWorker returns a sentence if the run does not continue because no worker is present, or if this is unknown.
func (d *Description) lacksWorker() string {
	if d.Unknown != nil {
		return " It is not known whether a worker is there: " + d.Unknown.What + "."
	}
	if !d.NoWorker {
		return ""
	}
	return " No worker is there to go on with it."
}

// unclaimed is the time after which a description of a ready run includes since when it is ready.
const unclaimed = 5 * time.Second

// waitsForWorker describes that the run is ready, and since when if it is ready for long.
func (d *Description) waitsForWorker() string {
	text := "it is ready and waits for a worker to take it"
	since := d.Lifecycle.Ready
	if waits := d.At.Sub(since); !since.IsZero() && waits >= unclaimed {
		text += fmt.Sprintf(", since %s, for %s", clockTime(since), duration.FormatRough(waits))
		if !d.NoWorker && d.Unknown == nil {
			text += ": no worker has a free slot, or none is there"
		}
	}
	return text + "."
}

// isLeft reports whether a task waits for a worker that meets its needs, or for its turn in its queue.
func (d *Description) isLeft(o interpreter.OpenTask) bool {
	return (o.Effect != 0 && o.Deferred || o.Ready) && len(d.Lifecycle.Needed()) > 0
}

// needsOf returns the needs of a task: the needs of its kind and queue, and the needs that were found when it was performed.
func (d *Description) needsOf(o interpreter.OpenTask) (needs []string) {
	if r := d.Invocation.Reserved; r != nil && slices.Contains(d.Lifecycle.Needed(), store.Reserved(*r)) {
		return store.Reserved(*r).Parts()
	}
	needed := d.Lifecycle.Needed()
	if slices.Contains(needed, store.NewNeed(o.Needs...)) {
		return o.Needs
	}
	for _, other := range d.OpenTasks {
		own := store.NewNeed(other.Needs...)
		needed = slices.DeleteFunc(needed, func(n store.Need) bool { return n == own })
	}
	needs = o.Needs
	for _, n := range needed { // of a task that has not asked for its effect yet, or whose queue decides when it may begin
		parts := n.Parts()
		missing := func(need string) bool { return !slices.Contains(parts, need) }
		if len(parts) > len(needs) && !slices.ContainsFunc(o.Needs, missing) {
			needs = parts
		}
	}
	return needs
}

// waitsForNeeds describes the needs that a task waits for, and whether a worker with these needs is present.
func (d *Description) waitsForNeeds(at string, o interpreter.OpenTask) string {
	needs := d.needsOf(o)
	name := queueOf(needs)
	told := needs
	if n := interpreter.NeedQueue(dsl.DefaultQueue); name == dsl.DefaultQueue && len(needs) > 1 && d.takesDefault() {
		told = slices.DeleteFunc(slices.Clone(needs), func(need string) bool { return need == n })
	}
	if o.Lacks != "" && slices.Contains(told, o.Lacks) { // the worker that tried met all other needs, except those announced by no worker
		told = slices.DeleteFunc(slices.Clone(told), func(need string) bool { return need != o.Lacks && !presence.Tells([]string{need}) })
	}
	since := ""
	if at := d.Lifecycle.NeededSince; !at.IsZero() {
		since = ", for " + duration.FormatRough(max(0, d.At.Sub(at)))
	}
	there := slices.ContainsFunc(d.workers, func(w presence.Worker) bool { return w.Has(store.NewNeed(needs...)) })
	if text := d.waitsInQueue(at, name); text != "" && (there || d.workers == nil || d.queues[name].Paused != nil) {
		return text + since
	}
	text := at + " waits for a worker that " + NeedText(told)
	switch {
	case d.workers == nil:
	case !there && presence.Tells(needs):
		text += "; none is there" + since
	case !there:
		text += "; none has taken it" + since
	default:
		text += "; one is there, and has not taken it yet" + since
	}
	return text
}

// queueOf returns the task queue in a list of needs.
func queueOf(needs []string) string {
	for _, need := range needs {
		if queue, ok := interpreter.NeededQueue(need); ok {
			return queue
		}
	}
	return dsl.DefaultQueue
}

// takesDefault reports whether a worker takes the default queue, which then is not worth a word.
func (d *Description) takesDefault() bool {
	n := store.NewNeed(interpreter.NeedQueue(dsl.DefaultQueue))
	return d.workers == nil || slices.ContainsFunc(d.workers, func(w presence.Worker) bool { return w.Has(n) })
}

// waitsInQueue describes that work in a queue waits because the queue is paused, or for its turn; empty if neither applies.
func (d *Description) waitsInQueue(what, name string) string {
	rules := d.queues[name]
	switch {
	case rules.Paused != nil:
		return fmt.Sprintf("%s waits: the queue %s is paused since %s%s", what, name, clockTime(rules.Paused.At), rules.Paused.By())
	case rules.Limited():
		return fmt.Sprintf("%s waits for its turn in the queue %s (%s)", what, name, rules.String())
	}
	return ""
}

// PolledText describes when an outside worker last polled a queue.
func PolledText(p queue.Polled, now time.Time) string {
	last := p.Last()
	if last.IsZero() {
		return "no worker has polled it yet"
	}
	return "polled last " + duration.FormatRough(max(0, now.Sub(last))) + " ago"
}

// NeedText describes a worker with some needs: takes the queue gpu, and may run processes.
func NeedText(needs []string) string {
	var all []string
	for _, need := range needs {
		if run, ok := interpreter.NeededReserved(need); ok {
			all = append(all, "works on "+reservedText(run)+" alone")
		} else if queue, ok := interpreter.NeededQueue(need); ok {
			all = append(all, "takes the queue "+queue)
		} else if call, ok := interpreter.NeededCall(need); ok {
			all = append(all, "has a performer of "+call)
		} else if language, ok := interpreter.NeededScript(need); ok {
			all = append(all, "runs scripts in "+language)
		} else if name, ok := interpreter.NeededSecret(need); ok {
			all = append(all, "has the secret "+name)
		} else if address, ok := interpreter.NeededNetwork(need); ok {
			all = append(all, "may call "+address)
		} else if need == interpreter.NeedProcesses {
			all = append(all, "may run processes")
		} else if source, ok := interpreter.NeededVolume(need); ok {
			all = append(all, "may give containers "+source)
		} else if need == interpreter.NeedContainers {
			all = append(all, "may run containers")
		} else if need == interpreter.NeedFiles {
			all = append(all, "may read files")
		} else {
			all = append(all, "has "+need)
		}
	}
	return strings.Join(all, " and ")
}

// reservedText describes a worker that works on the given run.
func reservedText(run string) string {
	if run == "" {
		return "them (swrun run DOCUMENT --id ID)"
	}
	return fmt.Sprintf("%s (swrun run DOCUMENT --id %s)", run, store.InstanceOf(run).ID)
}

// because names the actor and the reason of a cancellation or suspension, as the end of a sentence.
func (d *Description) because() string {
	return (&queue.Decision{Actor: d.Actor, Reason: d.Reason}).By()
}
