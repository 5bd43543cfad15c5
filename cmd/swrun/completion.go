package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// valuesToComplete is the annotation of a flag whose values the shell can complete.
const valuesToComplete = "swrun_values"

// completeValues offers a flag's values to the shell.
func completeValues(cmd *cobra.Command, flag string, values []string) {
	// The only possible error is a flag that does not exist, which the tests of completion would detect.
	_ = cmd.Flags().SetAnnotation(flag, valuesToComplete, values)
}

// registerCompletions lets cobra answer a shell that requests the values of flags. Cobra keeps each flag that it is given here as long as the process
// lives. So it is given them only if a shell requests them.
func registerCompletions(root *cobra.Command, args []string) {
	if len(args) > 0 && slices.Contains([]string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0]) {
		registerValues(root)
	}
}

func registerValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if values := f.Annotations[valuesToComplete]; values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, below := range cmd.Commands() {
		registerValues(below)
	}
}
