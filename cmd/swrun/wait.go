package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/client"
)

func (p *program) waitCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	var timeout string
	cmd := &cobra.Command{
		Use: "wait RUN...", Short: "Wait until runs have ended",
		Example: `  swrun wait order-7 order-8
  swrun wait order-7 --timeout 5m`,
		Long: "Exit 0: all have completed; otherwise the code of the first that has not, or 8 when the time is over.",
		Args: atLeastOne("a run"), RunE: verb(func(args []string) error {
			span, err := parseSpan("--timeout", timeout)
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.wait(ctx, args, span) })
		}),
	}
	f.add(cmd)
	f.within(cmd)
	cmd.Flags().StringVar(&timeout, "timeout", "", "how long to wait at most; default as long as it takes")
	return cmd
}

func (o *operation) wait(ctx context.Context, names []string, timeout time.Duration) error {
	if timeout == 0 {
		timeout = asLongAsItTakes
	}
	deadline := o.now().Add(timeout)
	runs, first, err := o.named(ctx, names)
	if err != nil {
		return err
	}
	for _, i := range runs {
		outcome, err := o.awaited(ctx, i, max(deadline.Sub(o.now()), time.Nanosecond))
		if errors.As(err, new(*exitError)) || errors.As(err, new(*client.QuarantinedError)) { // the others may end all the same
			first = o.alsoFailed(first, refusalError(err))
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "%s %s%s\n", i.ID, outcome.Status, because(outcome))
		if code := outcomeExit(outcome, nil); code != exitOK && first == nil {
			first = quietExit(code)
		}
	}
	return first
}
