package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/format"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) fmtCommand() *cobra.Command {
	var f formatFlags
	cmd := &cobra.Command{
		Use: "fmt DOC...", Short: "Format documents",
		Example: `  swrun fmt order.yaml
  swrun fmt --check workflows/*.yaml`,
		Long: "Indents by two spaces and keeps comments, order and quotes. Exit 13: with --check, a file is not formatted.",
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			if f.check && f.stdout {
				return usagef("", "--check and --stdout exclude each other")
			}
			if err := onlyOneStdin(args); err != nil {
				return err
			}
			return p.formatAll(args, f)
		}),
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing, list files that are not formatted")
	cmd.Flags().BoolVar(&f.stdout, "stdout", false, "print the result instead of changing the file")
	return cmd
}

// formatFlags are the flags of fmt.
type formatFlags struct{ check, stdout bool }

func (p *program) formatAll(names []string, f formatFlags) error {
	unformatted := false
	failed := failures{program: p}
	for _, name := range names {
		changed, err := p.formatOne(name, f)
		failed.add(err)
		unformatted = unformatted || changed
	}
	if failed.err == nil && f.check && unformatted {
		return quietExit(exitFindings)
	}
	return failed.err
}

// formatOne formats a document, and reports whether that changes it.
func (p *program) formatOne(name string, f formatFlags) (changed bool, err error) {
	file, text, err := readDocument(p.streams, name)
	if err != nil {
		return false, err
	}
	d := parseText(file, text)
	if errs := d.Diagnostics.Errors(); len(errs) > 0 {
		if err := write(p.err, diagnostics.Human(diagnostics.Report{Text: text, Diagnostics: errs}, p.errStyle())); err != nil {
			return false, err
		}
		return false, &exitError{code: exitInvalid, message: fmt.Sprintf("%s is not formatted: it is not valid", file)}
	}
	formatted, err := format.Document(file, text)
	if err != nil {
		return false, err
	}
	same := bytes.Equal(formatted, text)
	if same && (f.check || !f.stdout && name != "-") {
		return false, nil
	}
	return !same, p.putFormatted(file, formatted, formatFlags{f.check, f.stdout || name == "-"})
}

// putFormatted writes or prints a formatted text, if formatting changed it or it must be printed in any case.
func (p *program) putFormatted(file string, text []byte, f formatFlags) error {
	switch {
	case f.check:
		return write(p.out, terminal.Printable(file)+"\n")
	case f.stdout:
		return write(p.out, string(text))
	}
	fmt.Fprintf(p.err, "formatted %s\n", terminal.Printable(file))
	return replaceFile(file, text)
}
