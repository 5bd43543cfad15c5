package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) repairCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	var dry bool
	cmd := &cobra.Command{
		Use: "repair", Short: "Compare all runs with the indexes of the store, and repair what differs",
		Example: `  swrun repair --dry-run
  swrun repair -o json --jq .repaired`,
		Long: `Workers do the same all the time, a few runs at a time. Each repair is a sign of a bug or of lost writes. Doing it again changes nothing.`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.repair(ctx, dry) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be repaired")
	return cmd
}

func (o *operation) repair(ctx context.Context, dry bool) error {
	r, err := o.deployment.Repair(ctx, dry)
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
	if len(r.Repaired) > 0 {
		text = strings.Join(r.Repaired, "\n") + "\n" + text
	}
	return write(o.out, o.outStyle().Text(text))
}
