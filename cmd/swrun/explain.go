package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/explain"
	"github.com/swrun/swrun/internal/suggest"
)

func (p *program) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain CODE|TYPE", Short: "Explain a finding, an exit code or an error type in full",
		Example: `  swrun explain SW401
  swrun explain timeout`,
		Long: "CODE is the code of a finding of validate, lint or doctor, or an exit code; TYPE is a standard error type, or a type of problem of the HTTP API: its short name or its URI.",
		Args: exactly("a code or an error type"), ValidArgsFunction: explainArgs,
		RunE: verb(func(args []string) error { return p.explain(args[0]) }),
	}
	return cmd
}

func explainArgs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return explain.Names(), cobra.ShellCompDirectiveNoFileComp
}

func (p *program) explain(what string) error {
	for _, c := range exitCodes() {
		if what == strconv.Itoa(c.code) {
			return write(p.out, fmt.Sprintf("exit code %d: %s\n\n%s\n", c.code, c.title, c.story))
		}
	}
	if text, ok := explain.Of(what); ok {
		return write(p.out, p.outStyle().Text(text))
	}
	hint := "swrun lint and swrun doctor print codes; types: " + strings.Join(explain.Types(), ", ")
	if near := suggest.Nearest(what, explain.Names()); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &exitError{code: exitNotFound, message: fmt.Sprintf("there is nothing called %q to explain", what), hint: hint}
}
