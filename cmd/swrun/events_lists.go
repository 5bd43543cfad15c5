package main

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/events"
)

// eventsListFlags are the flags of lists about events.
type eventsListFlags struct {
	operateFlags
	kind  string
	limit int
}

func (f *eventsListFlags) query() control.EventQuery {
	return control.EventQuery{Namespaces: f.only(), Type: f.kind, Limit: f.limit}
}

// eventsList makes a command that lists objects about events.
func (p *program) eventsList(cmd *cobra.Command, list func(context.Context, *operation, *eventsListFlags) error) *cobra.Command {
	f := &eventsListFlags{operateFlags: operateFlags{remote: true, looksOnly: true}}
	cmd.Args, cmd.RunE = exactly(), verb(func([]string) error {
		if err := atLeast("--limit", f.limit, 1); err != nil {
			return err
		}
		return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return list(ctx, o, f) })
	})
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&f.kind, "type", "", "type of the events (default all types)")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "maximum number of entries")
	return cmd
}

func (p *program) eventsUnmatchedCommand() *cobra.Command {
	return p.eventsList(&cobra.Command{
		Use: "unmatched", Short: "List the last events that no run received",
		Example: `  swrun events unmatched
  swrun events unmatched -n shop --type order.paid`,
		Long: `Lists the events of the last day that no run received and that started no run, the newest first. LISTENING counts the runs and schedules that
listen for the type now. These expect other values, which swrun events listeners shows, or began later. Only some of many such events are kept:
the newest 200 of each namespace, and the newest 20 of each type.`,
	}, func(ctx context.Context, o *operation, f *eventsListFlags) error {
		all, err := o.untaken(ctx, f)
		if err != nil {
			return err
		}
		if f.output != "human" {
			return o.print(all)
		}
		return o.untakenTable(all)
	})
}

// untaken returns the events that no run took, up to the limit, and reports whether there are more, or may have been.
func (o *operation) untaken(ctx context.Context, f *eventsListFlags) ([]api.UntakenEvent, error) {
	q := f.query()
	q.Limit = min(q.Limit, math.MaxInt-1) + 1 // one more shows whether there are more
	all, err := o.deployment.Untaken(ctx, q)
	if err != nil {
		return nil, err
	}
	types, namespaces := control.UntakenFull(all)
	if len(types) > 0 {
		o.tell("there may have been more of the type %s: the newest %d of a type are kept", shorten.To(strings.Join(types, ", "), 200), events.UnmatchedOfType)
	}
	for _, namespace := range namespaces {
		o.tell("there may have been more for %s: the newest %d of a namespace are kept", cmp.Or(namespace, "all namespaces"), events.UnmatchedKept)
	}
	switch {
	case len(all) > f.limit:
		o.tellMore("these are the newest %d, and there are more", f.limit)
		return all[:f.limit], nil
	case len(all) == remote.MaxPage:
		o.tell("these are the newest %d, which is the maximum of a list, and there may be more; -n and --type choose some of them", len(all))
	}
	return all, nil
}

func (o *operation) untakenTable(all []api.UntakenEvent) error {
	table := terminal.NewTable(o.out, "AGE", "TYPE", "SOURCE", "ID", "FOR", "LISTENING", "REFUSED")
	for _, e := range all {
		var refused []string
		for _, r := range e.Refused {
			refused = append(refused, strings.TrimSuffix(r.Workflow+": "+r.Reason, ": "))
		}
		table.Row(
			o.ago(e.At), terminal.Printable(e.Type), terminal.Printable(cmp.Or(e.Source, "-")), terminal.Printable(cmp.Or(e.ID, "-")), cmp.Or(e.Namespace, "all"),
			strconv.Itoa(e.Listening), terminal.Printable(cmp.Or(strings.Join(refused, "; "), "-")),
		)
	}
	return table.Flush()
}

func (p *program) eventsListenersCommand() *cobra.Command {
	return p.eventsList(&cobra.Command{
		Use: "listeners", Short: "List the runs and schedules that listen for events",
		Example: `  swrun events listeners
  swrun events listeners --type order.paid -o json`,
		Long: `Lists the schedules that events start, and the tasks of runs that listen for events, the newest run first. Each line contains the type of the
event and the values that its correlations must have. --limit counts schedules and runs.`,
	}, func(ctx context.Context, o *operation, f *eventsListFlags) error {
		all, more, err := o.listeners(ctx, f)
		if err != nil {
			return err
		}
		if more {
			o.tellMore("there are more than %d runs and schedules that listen", f.limit)
		}
		if f.output != "human" {
			return o.print(all)
		}
		return o.listenersTable(all)
	})
}

// listeners returns the listeners, up to the limit, and whether there are more. A server returns a part of them at a time.
func (o *operation) listeners(ctx context.Context, f *eventsListFlags) (all []api.Listener, more bool, err error) {
	q := f.query()
	all = []api.Listener{}
	for q.Limit > 0 {
		page, err := o.deployment.Listeners(ctx, q)
		if err != nil {
			return nil, false, err
		}
		all = append(all, page.Listeners...)
		if q.Cursor = page.Next; page.Next == "" {
			return all, false, nil
		}
		if q.Limit -= countListeners(page.Listeners); len(page.Listeners) == 0 {
			q.Limit--
		}
	}
	return all, true, nil
}

// countListeners counts the runs and schedules that have entries in a list.
func countListeners(all []api.Listener) int {
	known := map[string]bool{}
	for _, l := range all {
		known[listenerName(l)] = true
	}
	return len(known)
}

func listenerName(l api.Listener) string {
	if l.Run != nil {
		return l.Run.Namespace + "/" + l.Run.ID
	}
	return "the schedule of " + l.Schedule
}

func (o *operation) listenersTable(all []api.Listener) error {
	table := terminal.NewTable(o.out, "TYPE", "EXPECTED", "LISTENER", "WORKFLOW", "FILTER")
	for _, l := range all {
		var expected []string
		for _, key := range slices.Sorted(maps.Keys(l.Expected)) {
			expected = append(expected, key+"="+l.Expected[key])
		}
		name := listenerName(l)
		if l.Paused {
			name += " (paused)"
		}
		table.Row(terminal.Printable(cmp.Or(l.Type, "any")), terminal.Printable(cmp.Or(strings.Join(expected, " "), "-")), name, l.Workflow, cmp.Or(l.Filter, "-"))
	}
	return table.Flush()
}
