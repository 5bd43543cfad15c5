package main

import (
	"strings"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/faultreport"
	"github.com/swrun/swrun/internal/terminal"
)

// This file reports failures of run, to people or as one JSON object (--errors).

// invalidError is a document with errors.
type invalidError struct{ document *swrun.Document }

func (e *invalidError) Error() string { return e.document.Diagnostics.Error() }

// runError is a run that did not complete.
type runError struct {
	report faultreport.Report
	mask   *mask
}

func (e *runError) Error() string { return "the run did not complete" }

// reportFailure prints a failure of run in the form that --errors selects, and returns the exit code as an error.
func (p *program) reportFailure(form string, err error) error {
	var invalid *invalidError
	var failed *runError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return p.printFailure(form, documentExit(invalid.document.Diagnostics), invalid.text(p.errStyle()), invalid.problem())
	case errors.As(err, &failed):
		return p.printFailure(form, failed.report.Exit, failed.mask.Text(failed.report.Text(p.errStyle())), failed.mask.Value(failed.report.Problem()))
	}
	if form != "json" {
		return err
	}
	exit := exitOf(err)
	return p.printFailure(form, exit.code, "", map[string]any{
		"type": "about:blank", "title": exitTitle(exit.code), "status": exitStatus(exit.code), "detail": exit.message, "exit": exit.code,
	})
}

func (p *program) printFailure(form string, code int, text string, problem any) error {
	if form == "json" {
		if err := api.Write(p.err, problem); err != nil {
			return err
		}
		return quietExit(code)
	}
	if err := write(p.err, text); err != nil {
		return err
	}
	return quietExit(code)
}

func exitTitle(code int) string {
	for _, c := range exitCodes() {
		if c.code == code {
			return strings.ToUpper(c.title[:1]) + c.title[1:]
		}
	}
	return "Internal error"
}

func exitStatus(code int) int {
	switch code {
	case exitUsage:
		return 400
	case exitNotFound:
		return 404
	case exitConflict:
		return 409
	case exitStore:
		return 503
	}
	return 500
}

func (e *invalidError) text(l terminal.Style) string {
	return diagnostics.Human(reportOn(e.document, e.document.Diagnostics.Errors()), l) + verdict(e.document, l)
}

func (e *invalidError) problem() any {
	errs := e.document.Diagnostics.Errors()
	title := "Invalid document"
	if onlyUnsupported(errs) {
		title = "Unsupported document"
	}
	return map[string]any{
		"type": "about:blank", "title": title, "status": 422, "detail": errs.Error(), "exit": documentExit(errs),
		"diagnostics": api.Diagnostics(errs),
	}
}

// failures are the errors of several files. Each is printed when it is added, so that an error does not suppress the others.
type failures struct {
	program *program
	err     error // ends the program with the code of the first; nil without errors
}

func (f *failures) add(err error) {
	if err == nil {
		return
	}
	var exit *exitError
	if err = f.program.reportFailure("human", err); !errors.As(err, &exit) {
		exit = &exitError{code: exitInternal, message: err.Error()}
	}
	f.program.printExit(exit)
	if f.err == nil {
		f.err = quietExit(exit.code)
	}
}
