package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) deadlinesCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var within string
	cmd := &cobra.Command{
		Use: "deadlines", Short: "List the deadlines that pass soon, of all runs",
		Example: `  swrun deadlines --within 5m
  swrun deadlines -o json`,
		Args: exactly(), RunE: verb(func([]string) error {
			span, err := parseSpan("--within", within)
			if err == nil && span <= 0 {
				err = usagef("for example 5m", "--within must be longer than nothing, got %s", within)
			}
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.deadlines(ctx, span) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&within, "within", "5m", "that pass within this time")
	return cmd
}

func (o *operation) deadlines(ctx context.Context, within time.Duration) error {
	all, err := o.deployment.Deadlines(ctx, within, o.flags.namespace, func(i store.Instance, err error) {
		fmt.Fprintf(o.err, "%s cannot be described: %s\n", i, err)
	})
	if err != nil {
		return err
	}
	if o.flags.output != "human" {
		return o.print(all)
	}
	w := terminal.NewTable(o.out, append([]string{"RUN"}, describe.DeadlineColumns()...)...)
	for _, u := range all {
		_, id, _ := strings.Cut(u.Run, "/")
		w.Row(append([]string{id}, describe.DeadlineRow(u.Deadline)...)...)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return o.reportUnworked(ctx, len(all) > 0)
}
