package control

import (
	"context"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/schedule"
	"github.com/swrun/swrun/runtime/store"
)

// This file lists the listeners for events, and the events that were not taken.

// EventQuery selects events that were not taken, or listeners for events.
type EventQuery struct {
	Namespaces []string // empty for all
	Type       string   // of events; empty for all
	Cursor     string   // the last cursor of the page before; empty for the first page
	Limit      int      // maximum number of events, or of runs and schedules
}

// has reports whether a namespace is selected.
func (q *EventQuery) has(namespace string) bool {
	return len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, namespace)
}

// Untaken returns the last events that were not taken, the newest first, up to the limit.
func (c *Control) Untaken(ctx context.Context, q EventQuery) ([]api.UntakenEvent, error) {
	found, err := events.UnmatchedIn(ctx, c.store, q.Namespaces)
	if err != nil {
		return nil, err
	}
	all := []api.UntakenEvent{}
	if q.Type != "" {
		found = slices.DeleteFunc(found, func(u events.Unmatched) bool { return u.Type != q.Type })
	}
	found = found[:min(len(found), max(q.Limit, 1))]
	if len(found) == 0 {
		return all, nil
	}
	listening, err := c.listening(ctx, q)
	for _, u := range found {
		all = append(all, api.NewUntakenEvent(u, listening[u.Type]+listening[""]))
	}
	return all, err
}

// UntakenFull returns the types and the namespaces for which a list contains the maximum number of kept events, so that there may have been more. The
// empty namespace means all.
func UntakenFull(all []api.UntakenEvent) (types, namespaces []string) {
	type kind struct{ namespace, name string }
	ofType, of := map[kind]int{}, map[string]int{}
	for _, e := range all {
		k := kind{e.Namespace, e.Type}
		if ofType[k]++; ofType[k] == events.UnmatchedOfType {
			types = append(types, e.Type)
		}
		if of[e.Namespace]++; of[e.Namespace] == events.UnmatchedKept {
			namespaces = append(namespaces, e.Namespace)
		}
	}
	slices.Sort(types)
	slices.Sort(namespaces)
	return slices.Compact(types), namespaces
}

// listening returns the current number of listening runs and schedules, by the types of events. The empty type counts the listeners that name no
// type.
func (c *Control) listening(ctx context.Context, q EventQuery) (map[string]int, error) {
	where, err := filter.Parse("listens=*", c.now())
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	err = c.client.Each(ctx, where.And(filter.In(q.Namespaces...)), func(r *filter.Run) bool {
		for _, kind := range r.Lifecycle.Listens.Types() {
			count[kind]++
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	schedules, err := c.schedulesOnEvents(ctx, q)
	for n := range schedules {
		kinds := map[string]bool{}
		for _, l := range c.scheduleListeners(ctx, &schedules[n], "") {
			kinds[l.Type] = true
		}
		for kind := range kinds {
			count[kind]++
		}
	}
	return count, err
}

// ListenersPage is a part of the list of listeners.
type ListenersPage struct {
	Listeners []api.Listener
	Next      string // cursor of the next page; empty at the end
}

// The prefixes of the cursors in lists of listeners.
const (
	afterSchedule = "schedule "
	afterRuns     = "run "
)

// Listeners returns a page of the listeners for events: schedules by the names of their workflows, then runs, the newest first. The limit is the
// maximum number of runs and schedules on the page. Each has an entry for every filter that waits for an event.
func (c *Control) Listeners(ctx context.Context, q EventQuery) (ListenersPage, error) {
	page := ListenersPage{Listeners: []api.Listener{}}
	last, ofSchedules := strings.CutPrefix(q.Cursor, afterSchedule)
	cursor, ofRuns := strings.CutPrefix(q.Cursor, afterRuns)
	room := max(q.Limit, 1)
	switch {
	case q.Cursor != "" && !ofSchedules && !ofRuns:
		return page, &client.OptionError{Field: "cursor", Detail: "must be a cursor from a page of this list"}
	case !ofRuns:
		schedules, err := c.schedulesOnEvents(ctx, q)
		if err != nil {
			return page, err
		}
		for n := range schedules {
			name := schedules[n].Workflow.Namespace + "/" + schedules[n].Workflow.Name
			if name <= last {
				continue
			}
			some := c.scheduleListeners(ctx, &schedules[n], q.Type)
			if len(some) > 0 && room == 0 {
				return page, nil
			}
			if page.Listeners = append(page.Listeners, some...); len(some) > 0 {
				room, page.Next = room-1, afterSchedule+name
			}
		}
		if room == 0 {
			return page, nil
		}
	}
	return c.listeningRuns(ctx, q, page, client.Query{Limit: room, Cursor: cursor})
}

// listeningRuns adds listening runs to a page.
func (c *Control) listeningRuns(ctx context.Context, q EventQuery, page ListenersPage, runs client.Query) (ListenersPage, error) {
	where := "listens=*"
	if q.Type != "" {
		where = filter.Text("listens", q.Type) + "," + filter.AnyType
	}
	chosen, err := c.filter(Choice{Where: where, Namespaces: q.Namespaces})
	if err != nil {
		return page, err
	}
	runs.Where = chosen
	found, err := c.client.List(ctx, runs)
	if page.Next = ""; found.Cursor != "" {
		page.Next = afterRuns + found.Cursor
	}
	for n := range found.Runs {
		page.Listeners = append(page.Listeners, c.runListeners(ctx, &found.Runs[n], q.Type)...)
	}
	return page, err
}

// runListeners returns the listeners of a run, for one type or for all.
func (c *Control) runListeners(ctx context.Context, r *filter.Run, kind string) (all []api.Listener) {
	one := api.Listener{Run: &api.RunName{Namespace: r.Instance.Namespace, ID: r.Instance.ID}, Workflow: r.Invocation.Workflow.String()}
	described, err := c.client.Describe(ctx, r.Instance)
	if store.RefusedAs(err) == store.NoSuch {
		return nil
	}
	if err != nil { // its record contains the types
		for _, of := range r.Lifecycle.Listens.Types() {
			if one.Type = of; kind == "" || of == "" || of == kind {
				all = append(all, one)
			}
		}
		return all
	}
	for _, o := range described.OpenTasks {
		if o.Listening != nil {
			all = append(all, awaitedBy(one, o.Listening, kind)...)
		}
	}
	return all
}

// awaitedBy returns an entry for each filter that waits for an event, of a type or of all.
func awaitedBy(one api.Listener, l *interpreter.Listening, kind string) (all []api.Listener) {
	for n, a := range l.Awaited {
		if kind == "" || a.Type == "" || a.Type == kind {
			one.Type, one.Expected, one.Filter = a.Type, a.Values, string(l.Missing[n])
			all = append(all, one)
		}
	}
	return all
}

// schedulesOnEvents returns the schedules that events start, by the names of their workflows.
func (c *Control) schedulesOnEvents(ctx context.Context, q EventQuery) ([]schedule.Schedule, error) {
	found, err := c.engine.Schedules().All(ctx)
	return slices.DeleteFunc(found, func(s schedule.Schedule) bool { return !s.Events || !q.has(s.Workflow.Namespace) }), err
}

// scheduleListeners returns the listeners of a schedule, for one type or for all. A schedule whose document cannot be read has no listeners.
func (c *Control) scheduleListeners(ctx context.Context, s *schedule.Schedule, kind string) (all []api.Listener) {
	listening, err := c.engine.Schedules().Listening(ctx, s)
	if err != nil {
		return nil
	}
	one := api.Listener{Schedule: s.Workflow.Namespace + "/" + s.Workflow.Name, Workflow: s.Workflow.String(), Paused: s.Paused != nil}
	for n := range listening {
		all = append(all, awaitedBy(one, &listening[n], kind)...)
	}
	return all
}
