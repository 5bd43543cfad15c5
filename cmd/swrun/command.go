package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// commandVerb is a verb that sends a command to runs, and its words in the output.
type commandVerb struct {
	control.Verb
	short, done string
}

func commandVerbs() (all []commandVerb) {
	shown := map[string][2]string{
		"cancel":    {"End runs, and cancel their tasks in progress", "cancelling"},
		"terminate": {"End runs, and all runs that they started", "terminating"},
		"suspend":   {"Suspend runs: no task starts, but deadlines continue", "suspending"},
		"resume":    {"Continue suspended runs", "resuming"},
		"retry":     {"Continue quarantined runs, and failed runs from the task that failed", "released"},
		"delete":    {"Delete ended runs and their histories", "deleted"},
	}
	for _, v := range control.Verbs() {
		all = append(all, commandVerb{v, shown[v.Name][0], shown[v.Name][1]})
	}
	return all
}

func (p *program) sendCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, o := range commandVerbs() {
		if o.Name == string(store.VerbRetry) {
			all = append(all, p.retryCommand(o))
			continue
		}
		all = append(all, p.sendCommand(o))
	}
	return all
}

func (p *program) sendCommand(v commandVerb) *cobra.Command {
	f, chosen := &operateFlags{remote: true}, &selectFlags{}
	var reason string
	var dry bool
	cmd := &cobra.Command{
		Use: v.Name + " RUN...", Short: v.short,
		Example: fmt.Sprintf("  swrun %s order-7 order-8\n  swrun %s --where 'workflow=demo/order status=%s'", v.Name, v.Name, v.For),
		Args:    chosen.arguments, RunE: verb(func(args []string) error {
			chosen.yes = chosen.yes || dry
			return p.operate(f, func(ctx context.Context, o *operation) error {
				runs, unknown, err := o.selected(ctx, chosen, args, v.Name)
				if err != nil {
					return err
				}
				if dry {
					return cmp.Or(unknown, o.check(ctx, v, runs))
				}
				return cmp.Or(unknown, o.send(ctx, v, runs, reason))
			})
		}),
	}
	f.add(cmd)
	f.within(cmd)
	chosen.add(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the effect on each run, and change nothing")
	if v.Takes {
		cmd.Flags().StringVar(&reason, "reason", "", "reason, for the run's history")
	}
	return cmd
}

// sendSize is the number of runs that get a command before its answers are printed.
const sendSize = 1000

// send sends a command to several runs. A run that refuses it does not affect the others.
func (o *operation) send(ctx context.Context, v commandVerb, runs []store.Instance, reason string) error {
	settles := v.Ends && o.isLocal()
	var first error
	done, left := 0, len(runs)
	for some := range slices.Chunk(runs, sendSize) {
		outcomes, refused := o.deployment.Send(ctx, v.Verb, some, reason)
		sent := accepted(some, refused)
		if err := storeFailure(refused); err != nil {
			return o.reportLeft(ctx, v, sent, left-len(sent), err)
		}
		done, left = done+len(sent), left-len(some)
		if settles {
			if err := o.settle(ctx, sent); err != nil {
				return err
			}
		}
		for n, i := range some {
			if refused[n] == nil {
				fmt.Fprintln(o.out, i.ID, v.outcome(outcomes[n], v.done))
			} else {
				first = o.alsoFailed(first, o.refusal(ctx, v, i, refused[n]))
			}
		}
	}
	return cmp.Or(first, o.reportUnworked(ctx, done > 0 && !settles && v.Name != "delete"))
}

// outcome returns the text about a run that accepts the verb: done, or the reason for which nothing changes.
func (v commandVerb) outcome(o api.Outcome, done string) string {
	if o.NoEffect == "" {
		return done
	}
	return strings.TrimPrefix(o.NoEffect, "it ") + "; " + v.Name + " changes nothing"
}

// check reports which of several runs would refuse a command in their current state. It ends as send would.
func (o *operation) check(ctx context.Context, v commandVerb, runs []store.Instance) error {
	var first error
	for some := range slices.Chunk(runs, sendSize) {
		outcomes, refused := o.deployment.Check(ctx, v.Verb, some)
		if err := storeFailure(refused); err != nil {
			return refusalError(err)
		}
		for n, i := range some {
			if refused[n] == nil {
				fmt.Fprintln(o.out, i.ID, v.outcome(outcomes[n], "would take "+v.Name))
			} else {
				first = o.alsoFailed(first, o.refusal(ctx, v, i, refused[n]))
			}
		}
	}
	return first
}

// storeFailure returns the first error that is an outage of the whole store; nil if no error is.
func storeFailure(refused []error) error {
	if n := slices.IndexFunc(refused, control.IsOutage); n >= 0 {
		return refused[n]
	}
	return nil
}

// reportLeft prints the runs that got the command before the store refused it or a signal arrived, and the number of the others.
func (o *operation) reportLeft(ctx context.Context, v commandVerb, done []store.Instance, left int, err error) error {
	for _, i := range done {
		if err := write(o.out, i.ID+" "+v.done+"\n"); err != nil {
			return err
		}
	}
	why := "the store refuses it"
	if ctx.Err() != nil {
		why = "it was interrupted"
	}
	fmt.Fprintf(o.err, "%s stopped: %s, with %s left; repeat the command for them\n", v.Name, why, terminal.Counted(left, "run"))
	return refusalError(err)
}

// accepted returns the runs that did not refuse.
func accepted(runs []store.Instance, refused []error) (all []store.Instance) {
	for n, i := range runs {
		if refused[n] == nil {
			all = append(all, i)
		}
	}
	return all
}

// refusal returns the error of a run that refuses a command. A run that was not deleted may wait for a worker to end it.
func (o *operation) refusal(ctx context.Context, v commandVerb, i store.Instance, err error) error {
	err = refusalError(err)
	var exit *exitError
	if v.Name == client.VerbDelete && errors.As(err, &exit) && exit.code == exitConflict && o.lacksWorker(ctx, i) {
		exit.hint = o.noWorker() + "; " + exit.hint
	}
	return err
}

// settle ends the runs that were cancelled or terminated: an embedded store has no worker of its own.
func (o *operation) settle(ctx context.Context, all []store.Instance) error {
	var runs []*swrun.Run
	for _, i := range all {
		runs = append(runs, o.engine.Run(i.Namespace, i.ID))
	}
	return o.engine.Settle(ctx, runs...)
}
