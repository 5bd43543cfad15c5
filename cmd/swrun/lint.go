package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) lintCommand() *cobra.Command {
	var f reportFlags
	var strict, fix bool
	cmd := &cobra.Command{
		Use: "lint DOC...", Short: "Check documents against all rules, and repair them",
		Example: `  swrun lint order.yaml
  swrun lint --fix order.yaml`,
		Long: "Exit 0: no errors, 3: errors, which keep a document from running, 13: warnings, with --strict.",
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			var unfixed error
			if fix {
				if slices.Contains(args, "-") {
					return usagef("name a file", "--fix cannot change standard input")
				}
				unfixed = p.fix(args)
			}
			lowest := dsl.SeverityInfo
			if f.hints {
				lowest = dsl.SeverityHint
			}
			found, err := p.report(args, f, lowest)
			if err == nil && strict && diagnostics.Count(found, dsl.SeverityWarning) > 0 {
				err = quietExit(exitFindings)
			}
			return cmp.Or(unfixed, err)
		}),
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 13 if there is a warning")
	cmd.Flags().BoolVar(&fix, "fix", false, "apply the safe edits to the files")
	return cmd
}

// fix repairs documents. The report covers documents that cannot be read.
func (p *program) fix(names []string) error {
	failed := failures{program: p}
	for _, name := range names {
		if file, text, err := readDocument(p.streams, name); err == nil {
			failed.add(p.fixOne(file, text))
		}
	}
	return failed.err
}

func (p *program) fixOne(file string, text []byte) error {
	fixed, n := diagnostics.Fix(text, func(text []byte) dsl.Diagnostics { return parseText(file, text).Diagnostics })
	if n == 0 {
		return nil
	}
	if err := replaceFile(file, fixed); err != nil {
		return fileError(file+" cannot be written", err)
	}
	_, err := fmt.Fprintf(p.err, "fixed %s in %s\n", terminal.Counted(n, "finding"), terminal.Printable(file))
	return err
}

// replaceFile writes a file as a whole or not at all. It keeps the file's permissions, and links that lead to it.
func replaceFile(name string, text []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".swrun-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is returned
	}
	return err
}
