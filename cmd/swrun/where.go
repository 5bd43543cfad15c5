package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// This file chooses runs by their properties: --where 'status=waiting workflow=demo/*'.

const whereUsage = "filter that selects runs, for example 'status=running,waiting workflow=demo/* label.team=pay started>-1h'; fields: "

// whereHelp returns the help on --where.
func whereHelp() string { return whereUsage + strings.Join(filter.Names(), ", ") }

// checkWhere refuses an invalid value of --where before any request.
func (p *program) checkWhere(text string) error {
	_, err := filter.Parse(text, p.now())
	return filterError("--where", err)
}

// chosen returns the choice of the runs that match a filter, in the namespace of the command.
func (f *operateFlags) chosen(where string) control.Choice {
	chosen := control.Choice{Where: where}
	if f.namespace != "" {
		chosen.Namespaces = []string{f.namespace}
	}
	return chosen
}

// equal returns the filter of a flag that names one value of a field; an empty value chooses all runs.
func equal(flag, field, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	_, err := filter.Equal(field, value)
	return filter.Text(field, value), filterError(flag, err)
}

// filterError returns the error about the value of a flag that is a filter, or a part of one.
func filterError(flag string, err error) error {
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		return usagef(wrong.Hint, "%s: %s", flag, wrong)
	}
	return err
}

// selectFlags choose the runs of a verb that takes several.
type selectFlags struct {
	where string
	yes   bool
	// preview shows the effect of the verb before the confirmation; nil if the number of runs is enough.
	preview func([]store.Instance) error
}

func (f *selectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.where, "where", "", whereHelp())
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "with --where: do not ask for confirmation")
}

// arguments requires runs by name or by --where, and not both.
func (f *selectFlags) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && f.where == "":
		return usagef("usage: "+cmd.UseLine(), "%s needs runs: their names, or --where", cmd.CommandPath())
	case len(args) > 0 && f.where != "":
		return usagef("leave out one of them", "%s takes either the names of runs or --where, not both", cmd.CommandPath())
	}
	return nil
}

// selected returns the named runs, or the runs that --where selects, which are counted and confirmed. Unknown is the same as in named.
func (o *operation) selected(ctx context.Context, f *selectFlags, names []string, verb string) (all []store.Instance, unknown, err error) {
	if f.where == "" {
		return o.named(ctx, names)
	}
	if err := o.checkWhere(f.where); err != nil {
		return nil, nil, err
	}
	chosen, err := o.deployment.Select(ctx, o.flags.chosen(f.where), math.MaxInt)
	if err != nil {
		return nil, nil, filterError("--where", err)
	}
	all = chosen.Runs
	o.tellUnreadable(chosen.Unreadable)
	if len(all) == 0 {
		_, err = fmt.Fprintln(o.err, o.errStyle().Text("there is nothing to "+verb+": no run fits --where "+terminal.ShellWord(f.where)))
		return nil, nil, err
	}
	return all, nil, o.confirm(ctx, f, verb, all)
}

// confirm asks for a confirmation of the verb for these runs. Without a terminal, --yes is required.
func (o *operation) confirm(ctx context.Context, f *selectFlags, verb string, all []store.Instance) error {
	if f.yes {
		return nil
	}
	question := fmt.Sprintf("%s %s?", verb, terminal.Counted(len(all), "run"))
	if !o.inTTY || !o.errTTY {
		return usagef("add --yes to confirm", "%s cannot be confirmed without a terminal", question)
	}
	if f.preview != nil {
		if err := f.preview(all); err != nil {
			return err
		}
	}
	fmt.Fprint(o.err, question+" [y/N] ")
	typed := make(chan string, 1)
	go func() { // it cannot be interrupted: it ends with the process
		var answer string
		_, _ = fmt.Fscanln(o.in, &answer) // no answer is no
		typed <- strings.ToLower(answer)
	}()
	select {
	case answer := <-typed:
		if answer != "y" && answer != "yes" {
			return quietExit(exitUsage)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
