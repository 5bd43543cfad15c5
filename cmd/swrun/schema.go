package main

import (
	"github.com/spf13/cobra"

	"github.com/swrun/swrun/spec"
)

func (p *program) schemaCommand() *cobra.Command {
	var target string
	targets := []string{"editor", "spec"}
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of documents",
		Example: `  swrun schema > workflow.schema.json
  swrun schema --target spec`,
		Long: "editor: flattened draft-07 for editors, spec: exact 2020-12. Put this line first in a document to use it:\n" +
			"  # yaml-language-server: $schema=workflow.schema.json",
		Args: exactly(),
		RunE: verb(func([]string) error {
			if err := oneOf("--target", target, targets...); err != nil {
				return err
			}
			if target == "spec" {
				return write(p.out, string(spec.Schema()))
			}
			return write(p.out, string(spec.EditorSchema()))
		}),
	}
	cmd.Flags().StringVar(&target, "target", "editor", "editor or spec")
	completeValues(cmd, "target", targets)
	return cmd
}
