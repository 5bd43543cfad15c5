package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file has the verbs that tell runs what to do.

// order is one of those verbs.
type order struct {
	use, short, done string
	fits             string // a status that it is for
	ends             bool   // the run
	give             func(c *client.Client, ctx context.Context, all []store.Instance, reason string) []error
}

func orders() []order {
	return []order{
		{"cancel", "End runs: what is in progress is cancelled", "cancelling", "waiting", true, each((*client.Client).Cancel)},
		{"terminate", "End runs and all that they have started", "terminating", "waiting", true, each((*client.Client).Terminate)},
		{"suspend", "Keep the tasks of runs from starting; deadlines go on", "suspending", "waiting", false, each((*client.Client).Suspend)},
		{"resume", "Let suspended runs go on", "resuming", "suspended", false, each((*client.Client).Resume)},
		{"retry", "Release runs that are quarantined because they killed their workers", "released", "quarantined", false, each(func(c *client.Client, ctx context.Context, i store.Instance, _ string) error {
			return c.Retry(ctx, i)
		})},
		{"delete", "Delete runs that have ended, with their history", "deleted", "completed", false, func(c *client.Client, ctx context.Context, all []store.Instance, _ string) []error {
			return c.DeleteAll(ctx, all)
		}},
	}
}

// each returns what gives an order to several runs at once that can be given to one.
func each(give func(*client.Client, context.Context, store.Instance, string) error) func(*client.Client, context.Context, []store.Instance, string) []error {
	return func(c *client.Client, ctx context.Context, all []store.Instance, reason string) []error {
		return client.ForEach(all, func(i store.Instance) error { return give(c, ctx, i, reason) })
	}
}

func (p *program) orderCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, o := range orders() {
		all = append(all, p.orderCommand(o))
	}
	return all
}

func (p *program) orderCommand(v order) *cobra.Command {
	f, chosen := &operateFlags{}, &selectFlags{}
	var reason string
	cmd := &cobra.Command{
		Use: v.use + " RUN...", Short: v.short,
		Example: fmt.Sprintf("  swrun %s order-7 order-8\n  swrun %s --where 'workflow=demo/order status=%s'", v.use, v.use, v.fits),
		Args:    chosen.arguments, RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				runs, err := o.selected(ctx, chosen, args, v.use)
				if err != nil {
					return err
				}
				return o.order(ctx, v, runs, reason)
			})
		}),
	}
	f.add(cmd)
	f.within(cmd)
	chosen.add(cmd)
	if v.use != "retry" && v.use != "delete" {
		cmd.Flags().StringVar(&reason, "reason", "", "why, for the run's history")
	}
	return cmd
}

// ordered is how many runs are told what to do before the next are: what is printed is never far behind.
const ordered = 1000

// order gives the same order to several runs; one that refuses it does not keep the others from it.
func (o *operation) order(ctx context.Context, v order, runs []store.Instance, reason string) error {
	settles := v.ends && o.store.Local()
	var first error
	left := len(runs)
	for some := range slices.Chunk(runs, ordered) {
		refused := v.give(o.client, ctx, some, reason)
		if err := storeRefuses(refused); err != nil {
			told := given(some, refused)
			return o.brokenOff(ctx, v, told, left-len(told), err)
		}
		left -= len(some)
		if settles {
			if err := o.settle(ctx, given(some, refused)); err != nil {
				return err
			}
		}
		for n, i := range some {
			if refused[n] == nil {
				fmt.Fprintf(o.out, "%s %s\n", i.ID, v.done)
			} else if err := o.unfit(ctx, v, i, refused[n]); first == nil {
				first = err
			} else {
				fmt.Fprintf(o.err, "%s\n", terminal.Printable(err.Error()))
			}
		}
	}
	return first
}

// storeRefuses returns why the store takes no orders at all, if that is what one of the errors says. A refusal is about one run.
func storeRefuses(refused []error) error {
	for _, err := range refused {
		ours := errors.As(err, new(*client.OptionError)) || errors.AsError(err) != nil
		if err != nil && store.RefusedAs(err) == "" && !ours {
			return err
		}
	}
	return nil
}

// brokenOff tells which runs were given the order last, before the store refused it or a signal came, and how many were not.
func (o *operation) brokenOff(ctx context.Context, v order, told []store.Instance, left int, err error) error {
	for _, i := range told {
		if err := write(o.out, i.ID+" "+v.done+"\n"); err != nil {
			return err
		}
	}
	why := "the store refuses it"
	if ctx.Err() != nil {
		why = "it was interrupted"
	}
	fmt.Fprintf(o.err, "%s broke off: %s, with %s left; the order may be given again\n", v.use, why, terminal.Counted(left, "run"))
	return refusalError(err)
}

// given returns the runs that have not refused.
func given(runs []store.Instance, refused []error) (all []store.Instance) {
	for n, i := range runs {
		if refused[n] == nil {
			all = append(all, i)
		}
	}
	return all
}

// unfit tells what is in the way of an order that was refused.
func (o *operation) unfit(ctx context.Context, v order, i store.Instance, err error) error {
	if store.RefusedAs(err) != store.Conflict {
		return refusalError(err)
	}
	l, loading := o.store.Load(ctx, i)
	if loading != nil {
		return refusalError(err)
	}
	found := client.Found{Instance: i, Lifecycle: l.Lifecycle}
	hint := "swrun " + v.use + " is for runs that are " + v.fits
	if v.use == "delete" {
		hint = "swrun cancel or terminate it first"
	}
	return &exitError{code: exitConflict, message: fmt.Sprintf("the run %s is %s", i, found.Status()), hint: hint}
}

// settle ends runs that were told to end: an embedded store has no worker of its own.
func (o *operation) settle(ctx context.Context, all []store.Instance) error {
	var runs []*swrun.Run
	for _, i := range all {
		runs = append(runs, o.engine.Run(i.Namespace, i.ID))
	}
	return o.engine.Settle(ctx, runs...)
}
