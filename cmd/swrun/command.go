package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// commandVerb is a verb that sends a command to runs.
type commandVerb struct {
	use, short, done string
	status           string // an example of a status that it is for
	ends             bool   // the run
	send             func(c *client.Client, ctx context.Context, all []store.Instance, reason string) []error
}

func commandVerbs() []commandVerb {
	return []commandVerb{
		{"cancel", "End runs: what is in progress is cancelled", "cancelling", "waiting", true, each((*client.Client).Cancel)},
		{"terminate", "End runs and all that they have started", "terminating", "waiting", true, each((*client.Client).Terminate)},
		{"suspend", "Keep the tasks of runs from starting; deadlines go on", "suspending", "waiting", false, each((*client.Client).Suspend)},
		{"resume", "Let suspended runs go on", "resuming", "suspended", false, each((*client.Client).Resume)},
		{"retry", "Release runs that are quarantined because they killed their workers", "released", "quarantined", false, each((*client.Client).Retry)},
		{"delete", "Delete runs that have ended, with their history", "deleted", "completed", false, func(c *client.Client, ctx context.Context, all []store.Instance, _ string) []error {
			return c.DeleteAll(ctx, all)
		}},
	}
}

// each returns what sends several runs at once what can be sent to one.
func each(send func(*client.Client, context.Context, store.Instance, string) error) func(*client.Client, context.Context, []store.Instance, string) []error {
	return func(c *client.Client, ctx context.Context, all []store.Instance, reason string) []error {
		return client.ForEach(all, func(i store.Instance) error { return send(c, ctx, i, reason) })
	}
}

func (p *program) sendCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, o := range commandVerbs() {
		all = append(all, p.sendCommand(o))
	}
	return all
}

func (p *program) sendCommand(v commandVerb) *cobra.Command {
	f, chosen := &operateFlags{}, &selectFlags{}
	var reason string
	cmd := &cobra.Command{
		Use: v.use + " RUN...", Short: v.short,
		Example: fmt.Sprintf("  swrun %s order-7 order-8\n  swrun %s --where 'workflow=demo/order status=%s'", v.use, v.use, v.status),
		Args:    chosen.arguments, RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				runs, unknown, err := o.selected(ctx, chosen, args, v.use)
				if err != nil {
					return err
				}
				err = o.send(ctx, v, runs, reason)
				return cmp.Or(unknown, err)
			})
		}),
	}
	f.add(cmd)
	f.within(cmd)
	chosen.add(cmd)
	if v.use != "delete" {
		cmd.Flags().StringVar(&reason, "reason", "", "why, for the run's history")
	}
	return cmd
}

// sendSize is how many runs get a command before its answers are printed.
const sendSize = 1000

// send sends a command to several runs. A run that refuses it does not keep it from the others.
func (o *operation) send(ctx context.Context, v commandVerb, runs []store.Instance, reason string) error {
	settles := v.ends && o.store.Local()
	var first error
	done, left := 0, len(runs)
	for some := range slices.Chunk(runs, sendSize) {
		refused := v.send(o.client, ctx, some, reason)
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
				fmt.Fprintf(o.out, "%s %s\n", i.ID, v.done)
			} else {
				first = o.alsoFailed(first, o.refusal(ctx, v, i, refused[n]))
			}
		}
	}
	return cmp.Or(first, o.reportUnworked(ctx, done > 0 && !settles && v.use != "delete"))
}

// storeFailure returns why the store takes no commands at all, if one of the errors says so. A refusal is about one run.
func storeFailure(refused []error) error {
	for _, err := range refused {
		ours := errors.As(err, new(*client.OptionError)) || errors.AsError(err) != nil
		if err != nil && store.RefusedAs(err) == "" && !ours {
			return err
		}
	}
	return nil
}

// reportLeft prints which runs got the command before the store refused it or a signal came, and how many did not.
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
	fmt.Fprintf(o.err, "%s broke off: %s, with %s left; give the command again for them\n", v.use, why, terminal.Counted(left, "run"))
	return refusalError(err)
}

// accepted returns the runs that have not refused.
func accepted(runs []store.Instance, refused []error) (all []store.Instance) {
	for n, i := range runs {
		if refused[n] == nil {
			all = append(all, i)
		}
	}
	return all
}

// refusal returns the error of a run that refuses a command: it says what state the run is in.
func (o *operation) refusal(ctx context.Context, v commandVerb, i store.Instance, err error) error {
	if store.RefusedAs(err) != store.Conflict {
		return refusalError(err)
	}
	l, loading := o.store.Load(ctx, i)
	if loading != nil {
		return refusalError(err)
	}
	found := filter.Run{Instance: i, Lifecycle: l.Lifecycle}
	message := fmt.Sprintf("the run %s is %s", i, found.Status())
	hint := "swrun " + v.use + " is for runs that are " + v.status
	if v.use == "delete" {
		hint = "swrun cancel or terminate it first"
		if d, err := o.client.Describe(ctx, i); err == nil {
			message, hint = o.notYetEnded(d, message, hint)
		}
	}
	return &exitError{code: exitConflict, message: message, hint: hint}
}

// notYetEnded says of a run that is to be deleted that it is about to end, if it is.
func (o *operation) notYetEnded(d *client.Description, message, hint string) (string, string) {
	for _, verb := range []store.Verb{store.VerbTerminate, store.VerbCancel} {
		if !slices.Contains(d.Commands, verb) {
			continue
		}
		hint = "delete it when it has ended"
		if d.NoWorker {
			hint = o.noWorker() + "; " + hint
		}
		return fmt.Sprintf("%s: its %s waits for a worker", message, verb), hint
	}
	return message, hint
}

// settle ends the runs that were cancelled or terminated: an embedded store has no worker of its own.
func (o *operation) settle(ctx context.Context, all []store.Instance) error {
	var runs []*swrun.Run
	for _, i := range all {
		runs = append(runs, o.engine.Run(i.Namespace, i.ID))
	}
	return o.engine.Settle(ctx, runs...)
}
