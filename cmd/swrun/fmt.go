package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) fmtCommand() *cobra.Command {
	var check, stdout bool
	cmd := &cobra.Command{
		Use: "fmt DOC...", Short: "Format documents",
		Example: `  swrun fmt order.yaml
  swrun fmt --check workflows/*.yaml`,
		Long: "Indents by two spaces and keeps comments, order and quotes. Exit 13: with --check, a file is not formatted.",
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			if check && stdout {
				return usagef("", "--check and --stdout exclude each other")
			}
			if err := onlyOneStdin(args); err != nil {
				return err
			}
			return p.formatAll(args, check, stdout)
		}),
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing, list files that are not formatted")
	cmd.Flags().BoolVar(&stdout, "stdout", false, "print the result instead of changing the file")
	return cmd
}

func (p *program) formatAll(names []string, check, stdout bool) error {
	unformatted := false
	for _, name := range names {
		file, text, err := readDocument(p.streams, name)
		if err != nil {
			return err
		}
		d := parseText(file, text)
		if len(d.diagnostics.Errors()) > 0 {
			l := p.errLook()
			fmt.Fprint(p.err, humanDiagnostics(report{file: file, text: text, diagnostics: d.diagnostics.Errors()}, l))
			return &exitError{code: exitInvalid, message: fmt.Sprintf("%s is not formatted: it is not valid", file)}
		}
		formatted, err := format(file, text)
		if err != nil {
			return err
		}
		changed := !bytes.Equal(formatted, text)
		unformatted = unformatted || changed
		if err := p.putFormatted(file, formatted, changed, check, stdout || name == "-"); err != nil {
			return err
		}
	}
	if check && unformatted {
		return quietExit(exitFindings)
	}
	return nil
}

func (p *program) putFormatted(file string, text []byte, changed, check, stdout bool) error {
	switch {
	case check && changed:
		return write(p.out, printable(file)+"\n")
	case check:
		return nil
	case stdout:
		return write(p.out, string(text))
	case changed:
		fmt.Fprintf(p.err, "formatted %s\n", printable(file))
		return replaceFile(file, text)
	}
	return nil
}
