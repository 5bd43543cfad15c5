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

// This file lists who listens for events, and which events nobody took.

// EventQuery chooses events that nobody took, or those who listen for events.
type EventQuery struct {
	Namespaces []string // empty for all
	Type       string   // of events; empty for all
	Cursor     string   // that the page before has ended with; empty for the first
	Limit      int      // how many events, or runs and schedules, at most
}

// has reports whether a namespace is meant.
func (q *EventQuery) has(namespace string) bool {
	return len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, namespace)
}

// Untaken returns the last events that nobody took, the newest first, at most so many as the limit says.
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

// UntakenFull returns the types and the namespaces of which a list has as many events as are kept, so that there may have been more of them. The empty
// namespace stands for all.
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

// listening counts the runs and schedules that listen now, by the types of events; the empty one is of those that name none.
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

// ListenersPage is a part of the list of those who listen.
type ListenersPage struct {
	Listeners []api.Listener
	Next      string // cursor of the next page; empty at the end
}

// What the cursors of lists of listeners begin with.
const (
	afterSchedule = "schedule "
	afterRuns     = "run "
)

// Listeners returns a page of those who listen for events: schedules by the names of their workflows, then runs, the newest first. The page has at most
// as many runs and schedules as the limit says; each has an entry for every filter that waits for an event.
func (c *Control) Listeners(ctx context.Context, q EventQuery) (ListenersPage, error) {
	page := ListenersPage{Listeners: []api.Listener{}}
	last, ofSchedules := strings.CutPrefix(q.Cursor, afterSchedule)
	cursor, ofRuns := strings.CutPrefix(q.Cursor, afterRuns)
	room := max(q.Limit, 1)
	switch {
	case q.Cursor != "" && !ofSchedules && !ofRuns:
		return page, &client.OptionError{Field: "cursor", Detail: "must be one that a page of this list has returned"}
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

// listeningRuns adds runs that listen to a page.
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

// runListeners returns what a run listens for, of a type or of all.
func (c *Control) runListeners(ctx context.Context, r *filter.Run, kind string) (all []api.Listener) {
	one := api.Listener{Run: &api.RunName{Namespace: r.Instance.Namespace, ID: r.Instance.ID}, Workflow: r.Invocation.Workflow.String()}
	described, err := c.client.Describe(ctx, r.Instance)
	if store.RefusedAs(err) == store.NoSuch {
		return nil
	}
	if err != nil { // its record says the types
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

// scheduleListeners returns what a schedule listens for, of a type or of all. One whose document cannot be read listens for nothing.
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
