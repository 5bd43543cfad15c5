package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
)

func readDocument(s streams, name string) (string, []byte, error) {
	if name == "-" {
		text, err := readStdin(s, "the document -", dsl.ReadText)
		return terminal.StandardInput, text, err
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return name, nil, usagef("name a file, for example "+filepath.Join(name, "workflow.yaml"), "%s is a folder", name)
	}
	text, err := readWhole("the document", name, dsl.ReadText)
	return name, text, err
}

// loadDocument reads a document, and checks everything that needs neither configuration nor files: the form and the rules.
func loadDocument(s streams, name string) (*swrun.Document, error) {
	file, text, err := readDocument(s, name)
	if err != nil {
		return nil, err
	}
	return parseText(file, text), nil
}

func parseText(file string, text []byte) *swrun.Document {
	d, _ := swrun.Parse(file, text) // its errors are among the diagnostics
	return d
}

// refused returns an *invalidError if a document has errors.
func refused(d *swrun.Document) error {
	if d.Err() != nil {
		return &invalidError{d}
	}
	return nil
}

// invalidated returns the *invalidError of a document for an error of its compilation; nil for any other error.
func invalidated(d *swrun.Document, err error) error {
	var found dsl.Diagnostics
	if !errors.As(err, &found) {
		return nil
	}
	compiled := *d
	compiled.Diagnostics = found
	return &invalidError{&compiled}
}

// invalidAmong is invalidated for the document, among several, that err is about.
func invalidAmong(all []*swrun.Document, err error) error {
	var found dsl.Diagnostics
	if !errors.As(err, &found) {
		return nil
	}
	n := slices.IndexFunc(all, func(d *swrun.Document) bool { return d.File == found[0].File })
	if n < 0 {
		return nil
	}
	return invalidated(all[n], err)
}

// visible returns the diagnostics down to a severity, and the number of diagnostics below.
func visible(all dsl.Diagnostics, lowest dsl.Severity) (dsl.Diagnostics, int) {
	shown := slices.DeleteFunc(slices.Clone(all), func(x dsl.Diagnostic) bool { return x.Severity > lowest })
	return shown, len(all) - len(shown)
}

func title(d *swrun.Document) string { return terminal.Printable(d.String()) }
