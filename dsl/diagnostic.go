package dsl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl/source"
)

// Severity is the severity of a diagnostic.
type Severity int

// The severities, most severe first. Only an Error keeps a document from running.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityInfo
	SeverityHint
)

// String returns the severity's word: error, warning, info or hint.
func (s Severity) String() string { return [...]string{"error", "warning", "info", "hint"}[s] }

// Diagnostic is one mistake of a document, or a possible mistake.
type Diagnostic struct {
	Code     string // stable, for example SW110; `swrun explain CODE` explains it
	Severity Severity
	Message  string       // the fault, on one line, names in backquotes
	File     string       // as given to Parse
	Range    source.Range // the place of the fault
	Label    string       // short text under the marked range, for example "did you mean `seconds`?"
	Related  []source.Related
	Pointer  Pointer
	Expected []string      // the accepted values, if the list is short
	Help     string        // the remedy
	Fix      []source.Edit // edits that together repair it, if there is a known repair
}

// Error formats d on one line: file:line:column: severity[code]: message.
func (d Diagnostic) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s[%s]: %s", d.File, d.Range.Start.Line, d.Range.Start.Column, d.Severity, d.Code, d.Message)
}

// Diagnostics are the findings about a document. A document with errors does not run.
type Diagnostics []Diagnostic

// Error returns the first error and the number of the others.
func (ds Diagnostics) Error() string {
	errs := ds.Errors()
	switch len(errs) {
	case 0:
		return "no errors"
	case 1:
		return errs[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", errs[0].Error(), len(errs)-1)
}

// Errors returns the diagnostics of severity error.
func (ds Diagnostics) Errors() Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d Diagnostic) bool { return d.Severity != SeverityError })
}

// Err returns ds if it contains an error and nil otherwise.
func (ds Diagnostics) Err() error {
	if len(ds.Errors()) == 0 {
		return nil
	}
	return ds
}

// Sort orders ds by position, then severity, then code.
func (ds Diagnostics) Sort() {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Range.Start.Offset, b.Range.Start.Offset),
			cmp.Compare(a.Severity, b.Severity), strings.Compare(a.Code, b.Code))
	})
}

// related returns a second place for a diagnostic.
func related(at source.Range, label string) []source.Related {
	return []source.Related{{Range: at, Label: label}}
}
