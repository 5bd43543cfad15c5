package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/terminal"
)

// The values of -o of validate and lint.
func reportForms() []string { return []string{"human", "json", "sarif", "github"} }

func (p *program) validateCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use: "validate DOC...", Short: "Check that documents can run",
		Example: `  swrun validate order.yaml
  swrun validate -o github workflows/*.yaml`,
		Long: "Finds all errors that keep a document from running, and warnings. Exit 0: valid, 3: not,\n9: valid, but this build cannot run it. Nothing is read from the network, unless --fetch asks for it.",
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			lowest := dsl.SeverityWarning
			if f.hints {
				lowest = dsl.SeverityHint
			}
			_, err := p.report(args, f, lowest)
			return err
		}),
	}
	f.add(cmd)
	return cmd
}

// reportFlags are the flags of validate and lint.
type reportFlags struct {
	resourceFlags
	output       string
	hints, fetch bool
}

func (f *reportFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.output, "output", "o", "human", "form of the report: "+strings.Join(reportForms(), ", "))
	cmd.Flags().BoolVar(&f.hints, "hints", false, "show hints too")
	f.resourceFlags.add(cmd)
	cmd.Flags().BoolVar(&f.fetch, "fetch", false, "read external resources from the network too, and check them")
	completeValues(cmd, "output", reportForms())
}

// report prints the diagnostics of the documents, down to a severity. It returns the printed ones, and their exit code as a quietExit unless all
// documents can run.
func (p *program) report(names []string, f reportFlags, lowest dsl.Severity) (dsl.Diagnostics, error) {
	if err := oneOf("-o", f.output, reportForms()...); err != nil {
		return nil, err
	}
	if err := onlyOneStdin(names); err != nil {
		return nil, err
	}
	var all dsl.Diagnostics
	var documents []*swrun.Document
	unread := failures{program: p}
	check := swrun.CheckConfig{Fetch: f.fetch}
	if f.fetch { // with the secrets of the environment
		check.Host.Secrets = swrun.NewSecrets(nil, p.env).Lookup
	}
	if err := f.resourceFlags.apply(p, "validate", &check.Host); err != nil {
		return nil, err
	}
	for _, name := range names {
		d, err := p.checkDocument(name, check)
		if err != nil {
			unread.add(err)
			continue
		}
		shown, _ := visible(d.Diagnostics, lowest)
		all = append(all, shown...)
		documents = append(documents, d)
	}
	if err := p.writeReport(documents, all, f.output, lowest); err != nil {
		return all, err
	}
	if code := documentExit(all); code != exitOK && unread.err == nil {
		return all, quietExit(code)
	}
	return all, unread.err
}

// checkDocument reads a document and finds all its mistakes, as far as that needs no secrets, and no network unless it may fetch.
func (p *program) checkDocument(name string, c swrun.CheckConfig) (*swrun.Document, error) {
	d, err := loadDocument(p.streams, name)
	if err == nil && d.Err() == nil {
		_ = d.Check(c) // its findings are among the diagnostics
	}
	return d, err
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

func (p *program) writeReport(documents []*swrun.Document, all dsl.Diagnostics, output string, lowest dsl.Severity) error {
	switch output {
	case "json":
		return api.Write(p.out, map[string]any{"diagnostics": api.Diagnostics(all)})
	case "sarif":
		return diagnostics.WriteSARIF(p.out, all)
	case "github":
		return diagnostics.WriteGitHub(p.out, all)
	}
	for _, d := range documents {
		if err := write(p.out, humanReport(d, lowest, p.outStyle())); err != nil {
			return err
		}
	}
	return nil
}

func humanReport(d *swrun.Document, lowest dsl.Severity, l terminal.Style) string {
	shown, hidden := visible(d.Diagnostics, lowest)
	r := reportOn(d, shown)
	r.Hidden = hidden
	return diagnostics.Human(r, l) + verdict(d, l)
}

// reportOn returns the report of some diagnostics of a document.
func reportOn(d *swrun.Document, shown dsl.Diagnostics) diagnostics.Report {
	r := diagnostics.Report{Text: d.Text, Diagnostics: shown}
	if d.File != terminal.StandardInput {
		r.FixCommand = "swrun lint --fix " + terminal.ShellWord(d.File)
	}
	return r
}

// warnings returns the warnings that are shown by a verb that does more than validate.
func warnings(all dsl.Diagnostics) dsl.Diagnostics {
	shown, _ := visible(all, dsl.SeverityWarning)
	return slices.DeleteFunc(shown, func(x dsl.Diagnostic) bool { return slices.Contains(aboutLengths(), x.Code) })
}

// aboutLengths returns the codes of the warnings about lengths of time. Only validate shows them: a run shows a timeout that ends it, and such a
// timeout is often intended as an experiment.
func aboutLengths() []string { return []string{"SW301", "SW302", "SW305", "SW306", "SW308"} }

// warn shows the warnings of documents on standard error, to people or as the JSON of validate.
func (p *program) warn(asJSON bool, documents ...*swrun.Document) error {
	var all dsl.Diagnostics
	var text strings.Builder
	for _, d := range documents {
		shown := warnings(d.Diagnostics)
		all = append(all, shown...)
		text.WriteString(diagnostics.Human(reportOn(d, shown), p.errStyle()))
	}
	if asJSON && len(all) > 0 {
		return api.Write(p.err, map[string]any{"diagnostics": api.Diagnostics(all)})
	}
	return write(p.err, text.String())
}

// verdict returns the text that a document is valid, or is empty. This build may be unable to run a valid document.
func verdict(d *swrun.Document, l terminal.Style) string {
	switch {
	case d.Diagnostics.Err() == nil:
		return l.Green(l.Sign("✔")) + fmt.Sprintf(" %s: %s is valid\n", terminal.Printable(d.File), l.Text(title(d)))
	case onlyUnsupported(d.Diagnostics):
		return l.Yellow(l.Sign("⊘")) + fmt.Sprintf(" %s: %s is valid, but this build does not run it\n", terminal.Printable(d.File), l.Text(title(d)))
	}
	return ""
}

func documentArgs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}
