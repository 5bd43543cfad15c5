package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) repairCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	var dry bool
	var run string
	cmd := &cobra.Command{
		Use: "repair", Short: "Compare runs with the indexes of the store, and repair the differences",
		Example: `  swrun repair --dry-run
  swrun repair --run order-7
  swrun repair -n demo
  swrun repair -o json --jq .repaired`,
		Long: `Workers do the same continuously, for a few runs at a time. Each repair is a sign of a bug or of lost writes. A second repair changes nothing.`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.repair(ctx, run, dry) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&run, "run", "", "id of the only run to compare, the beginning of an id, or namespace/id")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the differences, and repair nothing")
	return cmd
}

// repair compares the run of a name, or the runs of the namespace, or all runs.
func (o *operation) repair(ctx context.Context, run string, dry bool) error {
	of := api.RepairScope{Namespace: o.flags.namespace, DryRun: dry}
	if run != "" {
		i, err := o.lookUp(ctx, run)
		if err != nil {
			return err
		}
		of.Run, of.Namespace = i.String(), ""
	}
	r, err := o.deployment.Repair(ctx, of)
	if err != nil {
		return err
	}
	if o.flags.output != "human" {
		return o.print(r)
	}
	text := fmt.Sprintf("%s compared, %s repaired\n", terminal.Counted(r.Compared, "run"), terminal.Counted(r.Wrong, "difference"))
	if dry {
		text = fmt.Sprintf("%s to repair\n", terminal.Counted(r.Wrong, "difference"))
	}
	if n := len(r.Unreadable); n > 0 {
		text += terminal.Counted(n, "run") + " cannot be read\n"
	}
	if lines := slices.Concat(r.Repaired, r.Unreadable); len(lines) > 0 {
		text = strings.Join(lines, "\n") + "\n" + text
	}
	return write(o.out, o.outStyle().Text(text))
}
