package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
)

// This file changes deadlines of runs in progress.

func (p *program) deadlineCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "deadline", Short: "Change the deadlines of a run in progress"}
	cmd.AddCommand(p.deadlineSetCommand())
	group(cmd)
	return cmd
}

func (p *program) deadlineSetCommand() *cobra.Command {
	f, chosen, change := &operateFlags{remote: true}, &selectFlags{}, api.DeadlineChange{}
	cmd := &cobra.Command{
		Use: "set RUN +10m|TIME|none", Short: "Give a run, or a task in progress, more or less time",
		Example: `  swrun deadline set order-7 +10m --reason 'the bank is slow'
  swrun deadline set order-7 2026-12-24T18:00:00Z
  swrun deadline set order-7 none --task /do/1/pay
  swrun deadline set --where 'workflow=demo/order deadline<+10m' +1h --dry-run
  swrun deadline set order-7 -- -10m`,
		Long: `+10m moves the deadline to ten minutes later, and -10m to ten minutes earlier; for a scope without a deadline, both count from now. TIME sets
the deadline, and none removes it, even if the document sets it. The new deadline must be in the future, and not after the end of the enclosing
scope. It holds from its acceptance: the former deadline does not fire any more. The run's history records the change, its author and its reason.`,
		Args: chosen.deadlineArguments, RunE: verb(func(args []string) error {
			change.Deadline = args[len(args)-1]
			var wrong *client.OptionError
			if _, err := change.Parse(); errors.As(err, &wrong) {
				return usagef("for example swrun deadline set order-7 +10m", "the %s %s", wrong.Field, wrong.Detail)
			}
			chosen.yes = chosen.yes || change.DryRun
			return p.operate(f, func(ctx context.Context, o *operation) error {
				if chosen.where != "" {
					return o.setDeadlines(ctx, chosen, change)
				}
				return o.setDeadline(ctx, args[0], change)
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	chosen.add(cmd)
	cmd.Flags().BoolVar(&change.DryRun, "dry-run", false, "print the new deadline, and change nothing")
	cmd.Flags().StringVar(&change.Task, "task", "", "pointer of a task in progress, such as /do/1/pay (default the whole execution)")
	cmd.Flags().BoolVar(&change.Run, "run", false, "change the deadline of the run (--run-timeout), and not of the execution")
	cmd.Flags().StringVar(&change.Reason, "reason", "", "reason, for the run's history")
	return cmd
}

// deadlineArguments requires a run and a deadline, or, with --where, only a deadline.
func (f *selectFlags) deadlineArguments(cmd *cobra.Command, args []string) error {
	if f.where != "" {
		return exactly("a deadline")(cmd, args)
	}
	return exactly("a run", "a deadline")(cmd, args)
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
	if err := o.printDeadline(moved, change); err != nil {
		return err
	}
	return o.reportUnworked(ctx, !change.DryRun)
}

// setDeadlines changes the deadlines of the chosen runs. A run that is refused does not affect the others.
func (o *operation) setDeadlines(ctx context.Context, chosen *selectFlags, change api.DeadlineChange) error {
	runs, _, err := o.selected(ctx, chosen, nil, "set the deadline of")
	if err != nil {
		return err
	}
	var first error
	all := []api.MovedDeadline{}
	for some := range slices.Chunk(runs, sendSize) {
		moved, failed := o.deployment.SetDeadlines(ctx, some, change)
		for n, err := range failed {
			switch {
			case control.IsOutage(err):
				fmt.Fprintf(o.err, "deadline set stopped, with %s left; repeat the command for them\n", terminal.Counted(len(runs)-len(all), "run"))
				return refusalError(err)
			case err != nil:
				first = o.alsoFailed(first, refusalError(err))
				continue
			}
			all = append(all, moved[n])
			if o.flags.output == "human" {
				if err := o.printDeadline(moved[n], change); err != nil {
					return err
				}
			}
		}
	}
	if o.flags.output != "human" {
		return cmp.Or(o.print(all), first)
	}
	return cmp.Or(first, o.reportUnworked(ctx, len(all) > 0 && !change.DryRun))
}

// printDeadline prints the new deadline of a run, or the deadline that it would get.
func (o *operation) printDeadline(moved api.MovedDeadline, change api.DeadlineChange) error {
	scope, was := moved.ID, "it had no deadline"
	if change.Task != "" {
		scope += " " + change.Task
	}
	if moved.DeadlineWasAt != "" {
		was = "it was " + moved.DeadlineWasAt
	}
	at := map[bool]string{false: "has no deadline any more", true: "would have no deadline any more"}[change.DryRun]
	if moved.DeadlineAt != "" {
		at = map[bool]string{false: "ends by ", true: "would end by "}[change.DryRun] + moved.DeadlineAt
	}
	return write(o.out, o.outStyle().Text(fmt.Sprintf("%s %s; %s\n", scope, at, was)))
}
