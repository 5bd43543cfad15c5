package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) deadlinesCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var within, run string
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "deadlines [RUN]", Short: "List the next deadlines of all runs, or the deadlines of one run",
		Example: `  swrun deadlines --within 5m
  swrun deadlines -o json
  swrun deadlines order-7
  swrun deadlines order-7 --run 2`,
		Long: "With RUN, all its deadlines in force are listed. For an earlier run of an execution, these are the deadlines in force when the next run began.",
		Args: cobra.MaximumNArgs(1), RunE: verb(func(args []string) error {
			if len(args) == 1 || cmd.Flags().Changed("run") {
				return p.deadlinesOf(f, args, run, cmd.Flags().Changed("within"))
			}
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
	addRunNumber(cmd, &run)
	cmd.Flags().StringVar(&within, "within", "5m", "time from now within which the deadlines pass")
	return cmd
}

// deadlinesOf lists the deadlines of one run.
func (p *program) deadlinesOf(f *operateFlags, names []string, run string, within bool) error {
	switch {
	case len(names) == 0:
		return usagef("for example swrun deadlines order-7 --run 2", "--run is for one execution, which must be named")
	case within:
		return usagef("leave out --within", "--within is about all runs")
	}
	number, err := parseRunNumber(run)
	if err != nil {
		return err
	}
	return p.operate(f, func(ctx context.Context, o *operation) error {
		i, err := o.lookUp(ctx, names[0])
		if err != nil {
			return err
		}
		d, err := o.deployment.DescribeRun(ctx, i, number)
		if err != nil {
			return err
		}
		return o.printDeadlines(api.UpcomingOf(i, d))
	})
}

func (o *operation) deadlines(ctx context.Context, within time.Duration) error {
	all, err := o.deployment.Deadlines(ctx, within, o.flags.namespace, func(i store.Instance, err error) {
		fmt.Fprintf(o.err, "%s cannot be described: %s\n", i, err)
	})
	if err != nil {
		return err
	}
	if err := o.printDeadlines(all); err != nil || o.flags.output != "human" {
		return err
	}
	return o.reportUnworked(ctx, len(all) > 0)
}

func (o *operation) printDeadlines(all []api.UpcomingDeadline) error {
	if o.flags.output != "human" {
		return o.print(all)
	}
	w := terminal.NewTable(o.out, append([]string{"RUN"}, describe.DeadlineColumns()...)...)
	for _, u := range all {
		_, id, _ := strings.Cut(u.Run, "/")
		w.Row(append([]string{id}, describe.DeadlineRow(u.Deadline)...)...)
	}
	return w.Flush()
}
