package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) outputCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var wait, run string
	cmd := &cobra.Command{
		Use: "output RUN", Short: "Print the output of a run that has completed",
		Example: `  swrun output order-7
  swrun output order-7 --wait
  swrun output order-7 --wait 30s`,
		Long: "Exit 0: completed, 4: its input was refused, 10: faulted, 11: cancelled, 124: timed out, 8: it has not ended yet.",
		Args: func(cmd *cobra.Command, args []string) error {
			if wait == always && len(args) == 2 {
				wait, args = spanAmong(args)
			}
			if err := exactly("a run")(cmd, args); err != nil {
				return err
			}
			run = args[0]
			return nil
		},
		RunE: verb(func([]string) error {
			span := asLongAsItTakes
			if wait != always {
				var err error
				if span, err = parseSpan("--wait", wait); err != nil {
					return err
				}
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.result(ctx, run, span) })
		}),
	}
	f.add(cmd, "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&wait, "wait", "", "wait for the run to end, for example 30s; by itself as long as it takes")
	cmd.Flags().Lookup("wait").NoOptDefVal = always
	return cmd
}

// always is --wait by itself. What may follow it is then an argument, as pflag has it.
const always = "always"

const asLongAsItTakes = 100 * 365 * 24 * time.Hour

// spanAmong returns which of two arguments is the span of --wait, and the other one.
func spanAmong(args []string) (wait string, rest []string) {
	if _, err := parseSpan("--wait", args[1]); err != nil {
		if _, err := parseSpan("--wait", args[0]); err == nil {
			return args[0], args[1:]
		}
	}
	return args[1], args[:1]
}

func (o *operation) result(ctx context.Context, name string, wait time.Duration) error {
	i, err := o.lookUp(ctx, name)
	if err != nil {
		return err
	}
	outcome, err := o.awaited(ctx, i, wait)
	if err != nil {
		return err
	}
	if outcomeExit(outcome, nil) != exitOK {
		return o.endedOtherwise(i, outcome)
	}
	if outcome.HiddenData {
		return &exitError{code: exitStore, message: i.String() + " has completed; the token does not show the data of runs"}
	}
	return o.print(outcome.Output)
}
