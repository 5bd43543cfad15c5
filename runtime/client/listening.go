package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/events"
)

// This file determines which events a listening task could have consumed, and why it did not consume them.

// Unmatched is an event that was published lately, of a type that a task listens for, and that the task has not consumed.
type Unmatched struct {
	At       time.Time // when it was published
	Type     string
	ID       events.EventID
	Early    bool                  // it came before the task listened, and would have been consumed
	Large    bool                  // it was not kept because of its size: the reason for the mismatch is unknown
	Refusals []interpreter.Refusal // of filters that wait for an event, as they are now: the first few
	More     int                   // other filters that do not let it pass
}

// Limits for the past events that are examined for a listening task.
const (
	listenersJudged = 20              // tasks
	unmatchedShown  = 5               // events of one task
	refusalsShown   = 3               // filters of one event
	consumedRead    = 2 * historyPage // entries of the history
)

// unmatched finds for each task that listens, by its place among the open ones, the last events that it has not consumed, the oldest first.
func (c *Client) unmatched(ctx context.Context, d *Description, stored interpreter.StoredState) (map[int][]Unmatched, error) {
	var kinds []string
	for _, f := range d.State.EventFilters() {
		if !slices.Contains(kinds, f.Type) {
			kinds = append(kinds, f.Type)
		}
	}
	recent, err := events.RecentOf(ctx, c.store, d.Instance.Namespace, kinds[:min(len(kinds), listenersJudged)])
	if err != nil || len(recent) == 0 {
		return nil, err
	}
	consumed, err := c.consumed(ctx, d)
	if err != nil {
		return nil, err
	}
	// The secrets known to the program are hidden in the description.
	state, err := d.Invocation.Restore(d.Program, d.Instance, stored)
	if err != nil {
		return nil, err
	}
	found := map[int][]Unmatched{}
	for _, e := range recent {
		if !consumed[e.ID()] {
			d.judge(state, e, found)
		}
	}
	for at, all := range found {
		found[at] = all[max(0, len(all)-unmatchedShown):]
	}
	return found, nil
}

// judge adds an event where a task does not consume it.
func (d *Description) judge(state *interpreter.State, e events.Recent, found map[int][]Unmatched) {
	tasks := interpreter.ListeningTasks(d.Program, state, e.Event.V)
	for at, o := range d.OpenTasks {
		n := slices.IndexFunc(tasks, func(l interpreter.Listening) bool {
			return o.Listening != nil && l.Path == o.Path
		})
		if n < 0 || n >= listenersJudged {
			continue
		}
		kind, _ := e.Event.V.(map[string]any)["type"].(string)
		u := Unmatched{At: e.At, Type: kind, ID: e.ID(), Large: e.Large}
		early := e.At.Before(o.StartedAt)
		switch refused := len(tasks[n].Refusals) >= len(tasks[n].Missing); {
		case e.Large && early, early && refused:
			continue // it has nothing to do with this task
		case e.Large:
		case early:
			u.Early = true
		case !refused:
			continue // it is on its way
		default:
			shown := min(len(tasks[n].Refusals), refusalsShown)
			u.Refusals, u.More = tasks[n].Refusals[:shown], len(tasks[n].Refusals)-shown
		}
		found[at] = append(found[at], u)
	}
}

// consumed returns the events that the run has consumed lately.
func (c *Client) consumed(ctx context.Context, d *Description) (map[events.EventID]bool, error) {
	all := map[events.EventID]bool{}
	_, err := c.History(ctx, d.Instance, max(0, int(d.Lifecycle.Entries)-consumedRead), func(e HistoryEntry) error {
		for _, ev := range e.Events {
			if ev.Type == interpreter.EventConsumed && ev.Data != nil {
				all[events.IDOf(ev.Data)] = true
			}
		}
		return nil
	})
	return all, err
}

// listensFor describes the events that a task waits for.
func (d *Description) listensFor(at string, l *interpreter.Listening) string {
	var filters []string
	for n, filter := range l.Missing {
		filters = append(filters, fmt.Sprintf("%s (%s)%s", filter, d.lineOf(filter), awaitedText(l.Awaited[n])))
	}
	text := fmt.Sprintf("%s listens for an event that passes %s", at, strings.Join(filters, " or "))
	if l.Consumed > 0 {
		text += fmt.Sprintf("; %d came so far", l.Consumed)
	}
	return text
}

// awaitedText describes the type and the correlation values that an event must have.
func awaitedText(e interpreter.AwaitedEvent) (text string) {
	if e.Type != "" {
		text = " of type " + e.Type
	}
	for n, key := range slices.Sorted(maps.Keys(e.Values)) {
		text += map[bool]string{true: " with ", false: " and "}[n == 0] + key + "=" + e.Values[key]
	}
	return text
}

// lineOf returns the position of a value in the document, as file:line.
func (d *Description) lineOf(at dsl.Pointer) string {
	source := d.Program.Source(at)
	return fmt.Sprintf("%s:%d", source.File, source.Value(at).Start.Line)
}
