package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
)

// The values of -o of validate and lint.
func reportForms() []string { return []string{"human", "json", "sarif", "github"} }

func (p *program) validateCommand() *cobra.Command {
	var output string
	var hints bool
	cmd := &cobra.Command{
		Use: "validate DOC...", Short: "Check that documents can run",
		Example: `  swrun validate order.yaml
  swrun validate -o github workflows/*.yaml`,
		Long: "Finds everything that keeps a document from running, and warnings. Exit 0: valid, 3: not.",
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			lowest := dsl.SeverityWarning
			if hints {
				lowest = dsl.SeverityHint
			}
			_, err := p.report(args, output, lowest)
			return err
		}),
	}
	addReportFlags(cmd, &output, &hints)
	return cmd
}

func addReportFlags(cmd *cobra.Command, output *string, hints *bool) {
	cmd.Flags().StringVarP(output, "output", "o", "human", "form of the report: "+strings.Join(reportForms(), ", "))
	cmd.Flags().BoolVar(hints, "hints", false, "show hints too")
	completeValues(cmd, "output", reportForms())
}

// report prints what was found in the documents, down to a severity. It returns what it showed, and quietExit(3) if a
// document has errors.
func (p *program) report(names []string, output string, lowest dsl.Severity) (dsl.Diagnostics, error) {
	if err := oneOf("-o", output, reportForms()...); err != nil {
		return nil, err
	}
	if err := onlyOneStdin(names); err != nil {
		return nil, err
	}
	var all dsl.Diagnostics
	var documents []*document
	for _, name := range names {
		d, err := checkDocument(p.streams, name)
		if err != nil {
			return nil, err
		}
		shown, _ := d.visible(lowest)
		all = append(all, shown...)
		documents = append(documents, d)
	}
	if err := p.writeReport(documents, all, output, lowest); err != nil {
		return all, err
	}
	if all.Err() != nil {
		return all, quietExit(exitInvalid)
	}
	return all, nil
}

func onlyOneStdin(names []string) error {
	n := 0
	for _, name := range names {
		if name == "-" {
			n++
		}
	}
	if n > 1 {
		return usagef("", "standard input can be read only once")
	}
	return nil
}

func (p *program) writeReport(documents []*document, all dsl.Diagnostics, output string, lowest dsl.Severity) error {
	switch output {
	case "json":
		return writeJSON(p.out, map[string]any{"diagnostics": diagnosticsValue(all)})
	case "sarif":
		return writeSARIF(p.out, all)
	case "github":
		return writeGitHub(p.out, all)
	}
	for _, d := range documents {
		if err := write(p.out, humanReport(d, lowest, p.outLook())); err != nil {
			return err
		}
	}
	return nil
}

func humanReport(d *document, lowest dsl.Severity, l look) string {
	shown, hidden := d.visible(lowest)
	r := report{text: d.text, diagnostics: shown, hidden: hidden}
	if d.file != stdinName {
		r.fixCommand = "swrun lint --fix " + shellWord(d.file)
	}
	text := humanDiagnostics(r, l)
	if d.diagnostics.Err() == nil {
		text += l.green(l.sign("✔")) + fmt.Sprintf(" %s: %s is valid\n", printable(d.file), l.text(d.title()))
	}
	return text
}

// writeJSON writes v on one line, keys sorted.
func writeJSON(w io.Writer, v any) error {
	plain, err := expr.Normalize(v)
	if err != nil {
		return err
	}
	line, err := expr.Encode(plain)
	if err != nil {
		return err
	}
	return write(w, string(line)+"\n")
}

func documentArgs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeValues offers a flag's values to the shell.
func completeValues(cmd *cobra.Command, flag string, values []string) {
	// The only error is a flag that does not exist, which the tests of completion would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
