package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) waitCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var timeout string
	cmd := &cobra.Command{
		Use: "wait RUN...", Short: "Wait until runs end",
		Example: `  swrun wait order-7 order-8
  swrun wait order-7 --timeout 5m`,
		Long: "Exit 0: all runs are completed; otherwise the code of the first run that is not completed, or 8 at the end of --timeout.",
		Args: atLeastOne("a run"), RunE: verb(func(args []string) error {
			span, err := parseSpan("--timeout", timeout)
			if err != nil {
				return err
			}
			w := &waiting{names: args, timeout: span}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.wait(ctx, w) })
		}),
	}
	f.add(cmd)
	f.within(cmd)
	cmd.Flags().StringVar(&timeout, "timeout", "", "maximum time to wait (default no maximum)")
	return cmd
}

// waiting is the rest of a wait: when one server or holder ends, the next one is asked for the rest.
type waiting struct {
	names    []string
	timeout  time.Duration
	deadline time.Time // zero before it has begun
	left     []store.Instance
	first    error // the final error
}

func (o *operation) wait(ctx context.Context, w *waiting) error {
	if w.deadline.IsZero() {
		runs, unknown, err := o.named(ctx, w.names)
		if err != nil {
			return err
		}
		if w.timeout == 0 {
			w.timeout = asLongAsItTakes
		}
		w.left, w.first, w.deadline = runs, unknown, o.now().Add(w.timeout)
	}
	for ; len(w.left) > 0; w.left = w.left[1:] {
		i := w.left[0]
		outcome, err := o.awaited(ctx, control.RunOf{Execution: i}, max(w.deadline.Sub(o.now()), time.Nanosecond))
		if errors.As(err, new(*exitError)) || errors.As(err, new(*client.QuarantinedError)) { // the others may end anyway
			w.first = o.alsoFailed(w.first, refusalError(err))
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "%s %s%s\n", i.ID, outcome.Status, because(outcome))
		if code := outcomeExit(outcome, nil); code != exitOK && w.first == nil {
			w.first = quietExit(code)
		}
	}
	return w.first
}
