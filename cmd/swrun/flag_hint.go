package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// flagHint returns the command that lists the flags of a command, and a similar command that has the missing flag.
func flagHint(cmd *cobra.Command, name string) string {
	near := map[string]string{"dev": "serve", "serve": "worker", "worker": "serve", "run": "start", "start": "run"}[cmd.Name()]
	if other, _, err := cmd.Root().Find([]string{near}); near != "" && err == nil && other.Flags().Lookup(name) != nil {
		return fmt.Sprintf("%s has --%s: %s --help; %s --help lists the flags of this command", other.CommandPath(), name, other.CommandPath(), cmd.CommandPath())
	}
	return cmd.CommandPath() + " --help lists the flags"
}
