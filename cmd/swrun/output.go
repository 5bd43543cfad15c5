package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) outputCommand() *cobra.Command {
	f := &operateFlags{}
	var wait, run string
	cmd := &cobra.Command{
		Use: "output RUN", Short: "Print the output of a run that has completed",
		Example: `  swrun output order-7
  swrun output order-7 --wait
  swrun output order-7 --wait 30s`,
		Long: "Exit 0: completed, 10: faulted, 11: cancelled, 124: timed out, 8: it has not ended yet.",
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
	if code := outcomeExit(outcome, true, nil); code != exitOK {
		return endedOtherwise(i, outcome, code)
	}
	return o.print(outcome.Output)
}

// awaited returns how a run has ended; if it has not within a time, that is exit 8.
func (o *operation) awaited(ctx context.Context, i store.Instance, wait time.Duration) (execution.Outcome, error) {
	outcome, done, err := o.client.Outcome(ctx, i)
	var stuck *client.QuarantinedError
	if waits := wait > 0 && !o.store.Local(); waits && errors.As(err, &stuck) && !stuck.Ends.IsZero() {
		fmt.Fprintf(o.err, "%s is quarantined: swrun retry lets it run again; otherwise it ends at %s, which is waited for\n", i, api.Time(stuck.Ends))
	} else if done || err != nil {
		return outcome, err
	}
	if wait > 0 && o.store.Local() {
		return outcome, &exitError{
			code: exitStore, message: fmt.Sprintf("%s has not ended yet, and nobody can work on it while this holds %s", i, o.store),
			hint: "swrun run DOCUMENT --id " + i.ID + " goes on with it, swrun worker with all runs of this store",
		}
	}
	if wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		outcome, err = o.client.Wait(waiting, i)
		if err == nil || waiting.Err() == nil || ctx.Err() != nil { // what it was doing when its time was over may fail in its own way
			return outcome, err
		}
	}
	return outcome, &exitError{code: exitWaited, message: fmt.Sprintf("%s has not ended yet", i), hint: "swrun describe " + i.ID + " shows what it waits for"}
}

func endedOtherwise(i store.Instance, o execution.Outcome, code int) error {
	message := fmt.Sprintf("%s is %s", i, o.Status)
	if o.Fault != nil {
		message += ": " + o.Fault.Error()
	}
	return &exitError{code: code, message: message, hint: "swrun history " + i.ID + " shows how it came to that"}
}
