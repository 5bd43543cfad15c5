package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
)

// dslVersion is the newest supported version of the DSL.
const dslVersion = "1.0.3"

func (p *program) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version",
		Example: `  swrun version
  swrun version -o json`,
		Args: exactly(),
		RunE: verb(func([]string) error {
			if err := oneOf("-o", output, "human", "json"); err != nil {
				return err
			}
			if output == "json" {
				return api.Write(p.out, map[string]any{"version": swrun.Version(), "go": runtime.Version(), "dsl": dslVersion})
			}
			return write(p.out, versionLine())
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "human", "format of the output: human, json")
	completeValues(cmd, "output", []string{"human", "json"})
	return cmd
}

func versionLine() string {
	return fmt.Sprintf("swrun %s (%s, DSL %s)\n", swrun.Version(), runtime.Version(), dslVersion)
}
