package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
)

// This file changes deadlines of runs in progress.

func (p *program) deadlineCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "deadline", Short: "Change when a run in progress ends at the latest"}
	cmd.AddCommand(p.deadlineSetCommand())
	group(cmd)
	return cmd
}

func (p *program) deadlineSetCommand() *cobra.Command {
	f, change := &operateFlags{remote: true}, api.DeadlineChange{}
	cmd := &cobra.Command{
		Use: "set RUN +10m|TIME|none", Short: "Give a run, or a task in progress, more or less time",
		Example: `  swrun deadline set order-7 +10m --reason 'the bank is slow'
  swrun deadline set order-7 2026-12-24T18:00:00Z
  swrun deadline set order-7 none --task /do/1/pay
  swrun deadline set order-7 -- -10m`,
		Long: `+10m is ten minutes later than now stands, and -10m earlier; for a scope without a deadline they count from now. A time is that
time, and none removes the deadline, also one that the document sets. The new one must be to come, and not after the end of what is around
the scope. It counts from when it is accepted: the former deadline does not fire any more. The run's history says who changed what, and why.`,
		Args: exactly("a run", "a deadline"), RunE: verb(func(args []string) error {
			change.Deadline = args[1]
			var wrong *client.OptionError
			if _, err := change.Parse(); errors.As(err, &wrong) {
				return usagef("for example swrun deadline set order-7 +10m", "the %s %s", wrong.Field, wrong.Detail)
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.setDeadline(ctx, args[0], change) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&change.Task, "task", "", "the pointer of a task in progress, such as /do/1/pay; default the whole execution")
	cmd.Flags().BoolVar(&change.Run, "run", false, "the deadline of the run (--run-timeout), and not of the execution")
	cmd.Flags().StringVar(&change.Reason, "reason", "", "why, for the run's history")
	return cmd
}

func (o *operation) setDeadline(ctx context.Context, name string, change api.DeadlineChange) error {
	i, err := o.instance(ctx, name)
	if err != nil {
		return err
	}
	moved, err := o.deployment.SetDeadline(ctx, i, change)
	if err != nil {
		return refusalError(err)
	}
	if o.flags.output != "human" {
		return o.print(moved)
	}
	scope, was, at := i.ID, "there was none", "has no deadline any more"
	if change.Task != "" {
		scope += " " + change.Task
	}
	if moved.DeadlineWasAt != "" {
		was = "it was " + moved.DeadlineWasAt
	}
	if moved.DeadlineAt != "" {
		at = "ends by " + moved.DeadlineAt
	}
	if err := write(o.out, o.outStyle().Text(fmt.Sprintf("%s %s; %s\n", scope, at, was))); err != nil {
		return err
	}
	return o.reportUnworked(ctx, true)
}
