package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) deadlinesCommand() *cobra.Command {
	f := &operateFlags{}
	var within string
	cmd := &cobra.Command{
		Use: "deadlines", Short: "List the deadlines that pass soon, of all runs",
		Example: `  swrun deadlines --within 5m
  swrun deadlines -o json`,
		Args: exactly(), RunE: verb(func([]string) error {
			span, err := parseSpan("--within", within)
			if err == nil && span <= 0 {
				err = usagef("for example 5m", "--within must be longer than nothing, got %s", within)
			}
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.deadlines(ctx, span) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&within, "within", "5m", "that pass within this time")
	return cmd
}

// upcoming is a deadline of a run.
type upcoming struct {
	run *client.Description
	in  client.DescribedDeadline
}

func (o *operation) deadlines(ctx context.Context, within time.Duration) error {
	until := o.now().Add(within)
	var all []upcoming
	err := o.client.Upcoming(ctx, until, func(i store.Instance) error {
		if o.flags.namespace != "" && i.Namespace != o.flags.namespace {
			return nil
		}
		d, err := o.client.Describe(ctx, i)
		switch {
		case store.RefusedAs(err) == store.NoSuch && ctx.Err() == nil: // it has just been removed
			return nil
		case err != nil && ctx.Err() == nil: // the others are well
			_, err = fmt.Fprintf(o.err, "%s cannot be described: %s\n", i, err)
			return err
		case err != nil:
			return err
		}
		for _, in := range d.Deadlines {
			if !in.At.After(until) {
				all = append(all, upcoming{d, in})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b upcoming) int {
		return cmp.Or(a.in.At.Compare(b.in.At), cmp.Compare(a.run.Instance.String(), b.run.Instance.String()))
	})
	return o.printDeadlines(ctx, all)
}

func (o *operation) printDeadlines(ctx context.Context, all []upcoming) error {
	if o.flags.output == "human" {
		w := terminal.NewTable(o.out, append([]string{"RUN"}, describe.DeadlineColumns()...)...)
		for _, u := range all {
			w.Row(append([]string{u.run.Instance.ID}, describe.DeadlineRow(u.in)...)...)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return o.reportUnworked(ctx, len(all) > 0)
	}
	values := []api.UpcomingDeadline{}
	for _, u := range all {
		values = append(values, api.UpcomingDeadline{Run: u.run.Instance.String(), Workflow: u.run.Invocation.Workflow.String(), Deadline: api.NewDeadline(u.in)})
	}
	return o.print(values)
}
