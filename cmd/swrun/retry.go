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
	"github.com/swrun/swrun/runtime/store"
)

// This file lets quarantined runs continue, and failed runs as other runs.

func (p *program) retryCommand(v commandVerb) *cobra.Command {
	f, chosen, r := &operateFlags{remote: true}, &selectFlags{}, api.RetryRequest{}
	var now bool
	var secrets string
	cmd := &cobra.Command{
		Use: v.Name + " RUN...", Short: v.short,
		Example: `  swrun retry order-7 --dry-run                       # shows which calls it would make again
  swrun retry --where 'workflow=demo/order status=faulted forked=no'
  swrun retry --where 'attention=retrying' --now      # ends the wait for the next attempt`,
		Long: `A failed run is continued once, from the task that failed, as another run. A second retry is refused, and skipped with --where, unless --again
is given. Calls that did not succeed are made again with their former idempotency keys, or with new keys if --again is given.`,
		Args: chosen.arguments, RunE: verb(func(args []string) (err error) {
			if now && (r.Version != "" || r.Again) {
				return usagef("leave out one of them", "--now is for runs in progress, --version and --again are for failed runs")
			}
			if p.secrets, err = readSecrets(p.env, secrets); err != nil {
				return err
			}
			chosen.yes = chosen.yes || r.DryRun
			return p.operate(f, func(ctx context.Context, o *operation) error {
				if now {
					return o.retryNow(ctx, v, chosen, args, r)
				}
				return o.retrySelected(ctx, chosen, args, r)
			})
		}),
	}
	f.add(cmd)
	f.within(cmd)
	chosen.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&r.DryRun, "dry-run", false, "print the effect on each run and the calls that it would make again, and change nothing")
	flags.BoolVar(&now, "now", false, "end the delay of tasks that wait for their next attempt, so that the attempt begins immediately")
	flags.StringVar(&r.Version, "version", "", "version of the workflow, or latest, for failed runs (default the definition of each run)")
	flags.BoolVar(&r.Again, "again", false, "retry a run again that another run continues or continued; calls are made again, with new idempotency keys")
	flags.StringVar(&secrets, "secrets", "", "file or folder of the secrets that the runs read, name: value (also SWRUN_SECRET_<NAME>); the replay of their histories needs them")
	flags.StringVar(&r.Reason, "reason", "", "reason, for the run's history")
	return cmd
}

// retryNow ends the waits of runs for the next attempt of a task.
func (o *operation) retryNow(ctx context.Context, v commandVerb, chosen *selectFlags, args []string, r api.RetryRequest) error {
	runs, unknown, err := o.selected(ctx, chosen, args, v.Name)
	if err != nil {
		return err
	}
	now := commandVerb{control.RetryNow(), v.short, "trying again"}
	if r.DryRun {
		return cmp.Or(unknown, o.check(ctx, now, runs))
	}
	return cmp.Or(unknown, o.send(ctx, now, runs, r.Reason))
}

// retrySelected lets the chosen runs continue.
func (o *operation) retrySelected(ctx context.Context, chosen *selectFlags, args []string, r api.RetryRequest) error {
	chosen.preview = func(all []store.Instance) error {
		dry := r
		dry.DryRun = true
		outcomes, failed := o.deployment.Retry(ctx, all, dry)
		return o.previewForks(all, forksOf(outcomes), failed)
	}
	runs, unknown, err := o.selected(ctx, chosen, args, "retry")
	if err != nil {
		return err
	}
	return cmp.Or(unknown, o.goOn(ctx, runs, continuing{verb: "retry", skips: chosen.where != "", dry: r.DryRun, ask: func(some []store.Instance) ([]*api.Forked, []error) {
		outcomes, failed := o.deployment.Retry(ctx, some, r)
		return forksOf(outcomes), failed
	}}))
}

func forksOf(all []api.Outcome) (forks []*api.Forked) {
	for _, o := range all {
		forks = append(forks, o.Fork)
	}
	return forks
}

// continuing lets several runs continue, most of them as other runs.
type continuing struct {
	verb  string
	skips bool // a run that another run continues already is no failure
	dry   bool
	ask   func([]store.Instance) ([]*api.Forked, []error) // nil for a run that continues itself
}

// goOn lets runs continue, and prints the result of each. A run that is refused does not affect the others.
func (o *operation) goOn(ctx context.Context, runs []store.Instance, c continuing) error {
	var first error
	done, left := 0, len(runs)
	for some := range slices.Chunk(runs, sendSize) {
		forks, failed := c.ask(some)
		broken := storeFailure(failed)
		for n, i := range some {
			switch {
			case broken != nil && (failed[n] != nil || n >= len(forks)):
			case failed[n] == nil:
				done, left = done+1, left-1
				if err := o.printGoing(i, forks[n], c.dry); err != nil {
					return err
				}
			case c.skips && isContinued(failed[n]):
				left--
				fmt.Fprintf(o.out, "%s skipped: %s\n", i.ID, terminal.Printable(failed[n].Error()))
			default:
				left--
				first = o.alsoFailed(first, refusalError(failed[n]))
			}
		}
		if broken != nil {
			fmt.Fprintf(o.err, "%s stopped, with %s left; repeat the command for them\n", c.verb, terminal.Counted(left, "run"))
			return refusalError(broken)
		}
	}
	return cmp.Or(first, o.reportUnworked(ctx, done > 0 && !c.dry))
}

// printGoing prints that a run continues: itself, or as a fork, with its repeated calls.
func (o *operation) printGoing(i store.Instance, fork *api.Forked, dry bool) error {
	text, again := i.ID+" released\n", ""
	switch {
	case fork == nil && dry:
		text = i.ID + " would take retry\n"
	case fork != nil && dry:
		text, again = fmt.Sprintf("%s would continue as %s\n", i.ID, fork.ID), repeatsText(*fork)
	case fork != nil:
		text, again = fmt.Sprintf("%s continues as %s\n", i.ID, fork.ID), repeatsText(*fork)
	}
	if dry { // the requested output
		text, again = text+again, ""
	}
	if err := write(o.out, text); err != nil {
		return err
	}
	_, err := fmt.Fprint(o.err, o.errStyle().Text(again))
	return err
}

// shownForks is the maximum number of runs that are shown before a confirmation.
const shownForks = 20

// previewForks prints the runs that would continue, and their repeated calls, before a confirmation.
func (o *operation) previewForks(all []store.Instance, forks []*api.Forked, failed []error) error {
	if err := storeFailure(failed); err != nil {
		return refusalError(err)
	}
	for n, i := range all[:min(len(all), shownForks)] {
		text := i.ID + " continues\n"
		switch {
		case failed[n] != nil:
			text = i.ID + ": " + terminal.Printable(failed[n].Error()) + "\n"
		case forks[n] != nil:
			text = fmt.Sprintf("%s continues as %s\n", i.ID, forks[n].ID) + repeatsText(*forks[n])
		}
		fmt.Fprint(o.err, o.errStyle().Text(text))
	}
	if more := len(all) - shownForks; more > 0 {
		fmt.Fprintf(o.err, "and %d more\n", more)
	}
	return nil
}

// isContinued reports whether a run was refused because another run continues it already.
func isContinued(err error) bool {
	var problem *api.Problem
	return errors.As(err, new(*client.ContinuedError)) || errors.As(err, &problem) && problem.Name() == api.ProblemContinued
}
