package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (p *program) exportCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "export RUN", Short: "Print all stored data of a run: definition, history, state, failures",
		Example: `  swrun export order-7 > order-7.json
  swrun export order-7 --jq '.run.failures'`,
		Long: runArgument,
		Args: exactly("a run"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				i, err := o.lookUp(ctx, args[0])
				if err != nil {
					return err
				}
				all, err := o.deployment.Export(ctx, i)
				if err == nil {
					all, err = all.Summed() // a newer server may have sent members that this command does not know
				}
				if err != nil {
					return err
				}
				return o.print(all)
			})
		}),
	}
	f.add(cmd, "json", "yaml")
	f.within(cmd)
	return cmd
}
