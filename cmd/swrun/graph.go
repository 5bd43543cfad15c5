package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/graph"
)

func (p *program) graphCommand() *cobra.Command {
	var output string
	forms := graph.Forms()
	cmd := &cobra.Command{
		Use: "graph DOC", Short: "Draw a workflow",
		Example: `  swrun graph order.yaml
  swrun graph order.yaml -o dot | dot -Tsvg > order.svg`,
		Args: exactly("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			if err := oneOf("-o", output, forms...); err != nil {
				return err
			}
			d, err := loadDocument(p.streams, args[0])
			if err != nil {
				return err
			}
			if err := refused(d); err != nil {
				return p.reportFailure("human", err)
			}
			return write(p.out, graph.Draw(d.Workflow, output, p.outStyle()))
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", strings.Join(forms, ", "))
	completeValues(cmd, "output", forms)
	return cmd
}
