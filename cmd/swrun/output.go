package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) outputCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var wait, run, number string
	cmd := &cobra.Command{
		Use: "output RUN", Short: "Print the output of a completed run",
		Example: `  swrun output order-7
  swrun output order-7 --wait
  swrun output order-7 --wait 30s
  swrun output order-7 --run 2`,
		Long: "Exit 0: completed, 4: its input was refused, 10: faulted, 11: cancelled, 124: timed out, 8: still in progress, 6: an earlier run of the execution (--run), which the next run followed.",
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
			span, err := waitingSpan(wait)
			if err != nil {
				return err
			}
			n, err := parseRunNumber(number)
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.result(ctx, run, n, span) })
		}),
	}
	f.add(cmd, "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&wait, "wait", "", "maximum time to wait for the end of the run, for example 30s; without a value, no maximum")
	addRunNumber(cmd, &number)
	cmd.Flags().Lookup("wait").NoOptDefVal = always
	return cmd
}

// always is the value of --wait without a duration. To pflag, the next word is then an argument.
const always = "always"

// waitingSpan reads the duration of --wait.
func waitingSpan(wait string) (time.Duration, error) {
	if wait == always {
		return asLongAsItTakes, nil
	}
	return parseSpan("--wait", wait)
}

const asLongAsItTakes = 100 * 365 * 24 * time.Hour

// spanAmong returns which of two arguments is the duration of --wait, and the other one.
func spanAmong(args []string) (wait string, rest []string) {
	if _, err := parseSpan("--wait", args[1]); err != nil {
		if _, err := parseSpan("--wait", args[0]); err == nil {
			return args[0], args[1:]
		}
	}
	return args[1], args[:1]
}

func (o *operation) result(ctx context.Context, name string, number int, wait time.Duration) error {
	i, err := o.lookUp(ctx, name)
	if err != nil {
		return err
	}
	outcome, err := o.awaited(ctx, control.RunOf{Execution: i, Number: number}, wait)
	if err != nil {
		return err
	}
	if outcome.NextRun > 0 {
		return &exitError{
			code: exitConflict, message: fmt.Sprintf("the run %d of %s has no output: it has continued as the run %d", number, i, outcome.NextRun),
			hint: fmt.Sprintf("swrun output %s%s prints the output of the latest run, swrun describe %s --run %d%s shows this run", terminal.ShellWord(i.ID), o.flags.target(), terminal.ShellWord(i.ID), number, o.flags.target()),
		}
	}
	if outcomeExit(outcome, nil) != exitOK {
		return o.endedOtherwise(i, outcome)
	}
	if outcome.HiddenData {
		return &exitError{code: exitStore, message: i.String() + " has completed; the token does not show the data of runs"}
	}
	return o.print(outcome.Output)
}
