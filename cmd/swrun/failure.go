package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/terminal"
)

// This file tells how run failed, for people or as one JSON object (--errors).

// invalidError is a document with errors.
type invalidError struct{ document *document }

func (e *invalidError) Error() string { return e.document.diagnostics.Error() }

// runError is a run that did not complete.
type runError struct {
	job     *job
	failure failure
	signal  os.Signal
}

func (e *runError) Error() string { return "the run did not complete" }

// told prints a failure of run in the form that --errors asks for, and returns what is left: the exit code.
func (p *program) told(form string, err error) error {
	var invalid *invalidError
	var failed *runError
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return p.tell(form, documentExit(invalid.document.diagnostics), invalid.text(p.errStyle()), invalid.problem())
	case errors.As(err, &failed):
		mask := failed.job.mask
		return p.tell(form, failed.failure.exit, mask.text(failed.text(p.errStyle())), mask.value(failed.problem()))
	}
	if form != "json" {
		return err
	}
	if !errors.As(err, &exit) {
		exit = &exitError{code: exitInternal, message: err.Error()}
	}
	return p.tell(form, exit.code, "", map[string]any{
		"type": "about:blank", "title": exitTitle(exit.code), "status": exitStatus(exit.code), "detail": exit.message, "exit": exit.code,
	})
}

func (p *program) tell(form string, code int, text string, problem any) error {
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
	d := e.document
	r := diagnostics.Report{Text: d.text, Diagnostics: d.diagnostics.Errors()}
	if d.file != stdinName {
		r.FixCommand = "swrun lint --fix " + terminal.ShellWord(d.file)
	}
	return diagnostics.Human(r, l) + d.verdict(l)
}

func (e *invalidError) problem() any {
	errs := e.document.diagnostics.Errors()
	title := "Invalid document"
	if onlyUnsupported(errs) {
		title = "Unsupported document"
	}
	return map[string]any{
		"type": "about:blank", "title": title, "status": 422, "detail": errs.Error(), "exit": documentExit(errs),
		"diagnostics": api.Diagnostics(errs),
	}
}

func (e *runError) text(l terminal.Style) string {
	if e.failure.outcome.Fault == nil {
		return e.stopped(l)
	}
	return e.failure.text(l)
}

// stopped tells of a run that was cancelled from outside.
func (e *runError) stopped(l terminal.Style) string {
	f := e.failure
	what := "was cancelled"
	if e.signal != nil {
		what = "was interrupted (" + e.signal.String() + ")"
	}
	text := fmt.Sprintf("%s %s %s after %s   run %s · exit %d\n", l.Sign("⊘"), f.subject.name(), what,
		terminal.Elapsed(f.outcome.EndedAt.Sub(f.outcome.StartedAt)), terminal.Printable(f.subject.id), f.exit)
	again := "  a run in memory cannot be kept; to start over: swrun run " + terminal.ShellWord(f.subject.workflow.Source.File) + "\n"
	return l.Yellow(l.Text(strings.TrimSuffix(text, "\n"))) + "\n" + l.Text(strings.TrimSuffix(again, "\n")) + "\n"
}

// problem returns the fault as RFC 9457 JSON with what is known beside it.
func (e *runError) problem() any {
	f := e.failure
	if f.outcome.Fault == nil {
		return map[string]any{
			"type": "about:blank", "title": "Cancelled", "status": 499, "detail": "the run was cancelled from outside", "run": f.subject.id, "exit": f.exit,
		}
	}
	problem, _ := api.Error(f.outcome.Fault).(map[string]any)
	source := f.subject.workflow.Source
	at := source.Key(f.pointer()).Start
	problem["run"], problem["exit"] = f.subject.id, f.exit
	problem["source"] = map[string]any{"file": source.File, "line": at.Line, "column": at.Column}
	if origin, ok := f.trail.origin(f.outcome.Fault); ok {
		if a := f.trail.attemptsOf(origin); a.number > 0 {
			problem["attempt"] = a.number
		}
	}
	var catches []any
	for _, c := range f.considered() {
		catches = append(catches, map[string]any{"pointer": c.pointer.Instance(), "reason": c.reason})
	}
	if catches != nil {
		problem["consideredCatches"] = catches
	}
	return problem
}
