package faultreport

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// This file explains afterwards why no catch took an error.

// missedCatch is one catch on the way of the error, with the reason why it did not take it.
type missedCatch struct {
	pointer dsl.Pointer // of the try
	reason  string
}

// missedCatches returns the catches around the failed task from the inside out.
func (r Report) missedCatches() []missedCatch {
	at := r.pointer()
	var all []missedCatch
	for _, try := range enclosingTries(r.Workflow, at) {
		all = append(all, missedCatch{try.Pointer, r.reason(try, at)})
	}
	if r.Outcome.TimedOut && at == "" {
		all = append(all, missedCatch{"", "the workflow's own timeout ends the whole run; no catch inside can take it"})
	}
	return all
}

// enclosingTries returns the tries around p from the inside out, p's own task included.
func enclosingTries(w *dsl.Workflow, p dsl.Pointer) []*dsl.TryTask {
	var tries []*dsl.TryTask
	dsl.Walk(w, func(t dsl.Task) bool {
		try, ok := t.(*dsl.TryTask)
		if ok && (p == try.Pointer || strings.HasPrefix(string(p), string(try.Pointer)+"/")) {
			tries = append([]*dsl.TryTask{try}, tries...)
		}
		return true
	})
	return tries
}

func (r Report) reason(try *dsl.TryTask, at dsl.Pointer) string {
	where := fmt.Sprintf("catch at line %d", r.Workflow.Source.Key(try.Pointer.Key("catch")).Start.Line)
	switch {
	case at == try.Pointer && r.Outcome.TimedOut:
		return where + " does not see the timeout of its own try; put the timeout on a task inside, or a try around it"
	case at == try.Pointer:
		return where + " does not see errors of its own try, such as those of its input and output"
	case inside(at, try.Pointer, "catch/do"):
		return where + " raised the error itself, in its own `do`"
	}
	if misfit := r.misfit(try.Catch.Errors); misfit != "" {
		return where + " " + misfit
	}
	if r.Workflow.RetryPolicyOf(&try.Catch) != nil && try.Catch.Do == nil && try.Catch.Then == "" {
		return where + " only retries: no attempt is left, and it has no `do` to fall back on"
	}
	if try.Catch.When.Text != "" || try.Catch.ExceptWhen.Text != "" {
		return where + " has a condition that did not hold: " + conditions(try.Catch)
	}
	return where + " did not take it"
}

func conditions(c dsl.Catch) string {
	var all []string
	if c.When.Text != "" {
		all = append(all, "when: "+terminal.Printable(shorten.To(c.When.Text, 80)))
	}
	if c.ExceptWhen.Text != "" {
		all = append(all, "exceptWhen: "+terminal.Printable(shorten.To(c.ExceptWhen.Text, 80)))
	}
	return strings.Join(all, ", ")
}

// misfit describes the first member of a filter that the error of the run does not match; empty if all match.
func (r Report) misfit(f *dsl.ErrorFilter) string {
	e := r.Outcome.Fault
	member := f.WithAliases(r.ErrorAliases).Mismatch(e)
	switch member {
	case "":
		return ""
	case "type":
		want, got := shortTypes(f.Type, e.Type)
		return fmt.Sprintf("wants type=%s; this is %s", want, got)
	case "status":
		return fmt.Sprintf("wants status=%d; this is %d", *f.Status, e.Status)
	}
	want := map[string]*string{"title": f.Title, "detail": f.Detail, "instance": f.Instance}[member]
	got := map[string]string{"title": e.Title, "detail": e.Detail, "instance": e.Instance}[member]
	return fmt.Sprintf("wants %s=%s; this is %s", member, quoted(*want), quoted(got))
}

// shortTypes shortens two URIs to the part in which they differ.
func shortTypes(want, got string) (string, string) {
	i, j := strings.LastIndexByte(want, '/'), strings.LastIndexByte(got, '/')
	if i < 0 || j < 0 || errors.StandardName(want) == "" || errors.StandardName(got) == "" {
		return terminal.Printable(shorten.To(want, 200)), terminal.Printable(shorten.To(got, 200))
	}
	return "…/" + terminal.Printable(want[i+1:]), "…/" + terminal.Printable(got[j+1:])
}

func quoted(s string) string { return `"` + terminal.Printable(shorten.To(s, 100)) + `"` }

// remedy proposes a change with which the error is handled.
func (r Report) remedy() string {
	fault, at := r.Outcome.Fault, r.pointer()
	if r.Outcome.TimedOut && at == "" {
		return "give the slow task a timeout of its own, inside a try that catches `timeout`"
	}
	if at == "" {
		return ""
	}
	if errors.StandardName(fault.Type) == "expression" {
		return "make sure that the expression gets the value it needs: a default by `.a // 0`, or an `if` on the task"
	}
	tries := enclosingTries(r.Workflow, at)
	filter := fmt.Sprintf("catch: { errors: { with: { type: %s } } }", terminal.Printable(shorten.To(fault.Type, 200)))
	for _, try := range tries {
		if inside(at, try.Pointer, "try") && r.misfit(try.Catch.Errors) != "" {
			return fmt.Sprintf("add a second try around it, or widen the filter: with: { status: %d }", fault.Status)
		}
	}
	if len(tries) > 0 {
		return "add a try around it with " + filter
	}
	return "wrap the task in a try with " + filter
}

// inside reports whether p is in the given slot of the task at outer.
func inside(p, outer dsl.Pointer, slot string) bool {
	return strings.HasPrefix(string(p), string(outer)+"/"+slot+"/")
}
