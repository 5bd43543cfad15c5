package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) lintCommand() *cobra.Command {
	var f reportFlags
	var strict, fix bool
	cmd := &cobra.Command{
		Use: "lint DOC...", Short: "Check documents against all rules, and repair them",
		Example: `  swrun lint order.yaml
  swrun lint --fix order.yaml`,
		Long: "Exit 0: nothing that keeps a document from running, 3: errors, 13: with --strict, warnings.",
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			if fix {
				if err := p.fix(args); err != nil {
					return err
				}
			}
			lowest := dsl.SeverityInfo
			if f.hints {
				lowest = dsl.SeverityHint
			}
			found, err := p.report(args, f, lowest)
			if err == nil && strict && countSeverity(found, dsl.SeverityWarning) > 0 {
				return quietExit(exitFindings)
			}
			return err
		}),
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 13 if there are warnings")
	cmd.Flags().BoolVar(&fix, "fix", false, "make the edits that are safe, in place")
	return cmd
}

// fixRounds bounds how often a document is fixed: one repair may bring another finding to light.
const fixRounds = 5

func (p *program) fix(names []string) error {
	for _, name := range names {
		if name == "-" {
			return usagef("name a file", "--fix cannot change standard input")
		}
		file, text, err := readDocument(p.streams, name)
		if err != nil {
			return err
		}
		fixed, n := fixText(file, text)
		if n == 0 {
			continue
		}
		if err := replaceFile(file, fixed); err != nil {
			return err
		}
		fmt.Fprintf(p.err, "fixed %s in %s\n", terminal.Counted(n, "finding"), terminal.Printable(file))
	}
	return nil
}

// fixText makes all safe edits and returns how many findings they repair.
func fixText(file string, text []byte) ([]byte, int) {
	repaired := 0
	for range fixRounds {
		edits, n := safeEdits(parseText(file, text).diagnostics)
		if n == 0 {
			break
		}
		next := applyEdits(text, edits)
		if bytes.Equal(next, text) {
			break
		}
		text, repaired = next, repaired+n
	}
	return text, repaired
}

// safeEdits collects the edits of all findings that can be repaired at once: no two of them touch the same text.
func safeEdits(ds dsl.Diagnostics) (edits []dsl.Edit, findings int) {
	for _, d := range ds {
		if !isFixable(d) || slices.ContainsFunc(d.Fix, func(e dsl.Edit) bool { return overlapsAny(edits, e) }) {
			continue
		}
		edits = append(edits, d.Fix...)
		findings++
	}
	return edits, findings
}

func overlapsAny(edits []dsl.Edit, e dsl.Edit) bool {
	return slices.ContainsFunc(edits, func(other dsl.Edit) bool {
		return e.Range.Start.Offset <= other.Range.End.Offset && other.Range.Start.Offset <= e.Range.End.Offset
	})
}

// applyEdits makes edits that do not overlap.
func applyEdits(text []byte, edits []dsl.Edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b dsl.Edit) int { return cmp.Compare(b.Range.Start.Offset, a.Range.Start.Offset) })
	for _, e := range edits {
		from, to := e.Range.Start.Offset, e.Range.End.Offset
		if from < 0 || to < from || to > len(text) {
			continue
		}
		text = slices.Concat(text[:from], []byte(e.NewText), text[to:])
	}
	return text
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
		_ = os.Remove(f.Name()) // the first error is the one to tell
	}
	return err
}
