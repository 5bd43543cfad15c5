package faultreport

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
)

// pointer returns the place of the failed task in the document.
func (r Report) pointer() dsl.Pointer {
	if origin, ok := r.History.origin(r.Outcome.Fault); ok {
		return origin.Place()
	}
	if r.Outcome.Fault.Instance == "/" {
		return ""
	}
	return dsl.Pointer(r.Outcome.Fault.Instance)
}

func (r Report) where() string {
	instance := r.Outcome.Fault.Instance
	origin, known := r.History.origin(r.Outcome.Fault)
	if known && instance == "" {
		instance = string(origin.Pointer)
	}
	text := fmt.Sprintf("at %s (%s)", terminal.Printable(shorten.To(instance, 300)), r.location())
	if stands := origin.Place(); known && stands != origin.Pointer { // in a function
		function, _, remote := stands.RemoteFunction()
		if stands = dsl.Pointer(strings.TrimPrefix(string(stands), string(function))); remote && stands == "" {
			stands = "a function"
		}
		text = fmt.Sprintf("at %s, which runs %s (%s)", terminal.Printable(shorten.To(instance, 300)), terminal.Printable(string(stands)), r.location())
	}
	if known && origin.Route == interpreter.RouteChild && string(origin.Pointer) != instance {
		return r.child(origin, instance)
	}
	if known && string(origin.Pointer) != instance {
		text += " in task " + terminal.Printable(string(origin.Pointer))
	}
	a := r.History.attemptsOf(origin)
	if a.number == 0 {
		return text
	}
	text += fmt.Sprintf(" attempt %d", a.number)
	if limit := r.attemptLimit(a); limit > 0 {
		text += fmt.Sprintf(" of %d", limit)
	}
	delays := make([]string, len(a.delays))
	for i, d := range a.delays {
		delays[i] = terminal.Elapsed(d)
	}
	retries := "retries"
	if a.number == 2 {
		retries = "retry"
	}
	return text + fmt.Sprintf(", after %d %s (%s)", a.number-1, retries, strings.Join(delays, ", "))
}

// child describes the place of an error that comes from a child workflow: its instance is a task of the child's document.
func (r Report) child(origin interpreter.HistoryEvent, instance string) string {
	by := fmt.Sprintf("of a workflow that task %s (%s) has started", terminal.Printable(string(origin.Pointer)), r.location())
	reference, ok := r.started(origin.Place())
	if !ok {
		return fmt.Sprintf("at %s %s", terminal.Printable(shorten.To(instance, 300)), by)
	}
	at := dsl.Pointer(strings.TrimSuffix(instance, "/"))
	holders := r.holders(reference, at)
	if len(holders) != 1 {
		return fmt.Sprintf("at %s of %s/%s, or of what that has started; it is run by task %s (%s)", terminal.Printable(shorten.To(instance, 300)),
			terminal.Printable(reference.Namespace), terminal.Printable(reference.Name), terminal.Printable(string(origin.Pointer)), r.location())
	}
	document := holders[0]
	text := fmt.Sprintf("at %s (%s:%d) of %s/%s", terminal.Printable(shorten.To(instance, 300)), terminal.Printable(document.Source.File), document.Source.Key(at).Start.Line,
		terminal.Printable(document.Document.Namespace), terminal.Printable(document.Document.Name))
	if document != r.Documents(reference) {
		text += fmt.Sprintf(", below %s/%s", terminal.Printable(reference.Namespace), terminal.Printable(reference.Name))
	}
	return text + fmt.Sprintf(", which task %s (%s) has started", terminal.Printable(string(origin.Pointer)), r.location())
}

// started returns the workflow that a task of the run runs.
func (r Report) started(task dsl.Pointer) (child definition.Reference, ok bool) {
	if r.Documents == nil {
		return child, false
	}
	if t, isHere := dsl.TaskAt(r.Workflow, task).(*dsl.RunWorkflow); isHere {
		return definition.Reference{Namespace: t.Namespace, Name: t.Workflow, Version: t.Version}, true
	}
	document := r.Workflow.Document
	return r.StartedBy(definition.Reference{Namespace: document.Namespace, Name: document.Name, Version: document.Version}, task)
}

func (r Report) attemptLimit(a attempts) int {
	try, ok := dsl.TaskAt(r.Workflow, a.try).(*dsl.TryTask)
	if !ok {
		return 0
	}
	if policy := r.Workflow.RetryPolicyOf(&try.Catch); policy != nil && policy.AttemptCount != nil {
		return *policy.AttemptCount + 1
	}
	return 0
}

func (r Report) location() string {
	if _, uri, remote := r.pointer().RemoteFunction(); remote {
		return terminal.Printable(uri)
	}
	source := r.Workflow.Source
	return fmt.Sprintf("%s:%d", terminal.Printable(source.File), source.Key(r.pointer()).Start.Line)
}

// holders returns the documents in which a pointer leads to a task, or to the whole document if it is empty: the document of a workflow, or else of
// the workflows that it starts, level by level.
func (r Report) holders(reference definition.Reference, at dsl.Pointer) (found []*dsl.Workflow) {
	seen := map[*dsl.Workflow]bool{}
	for level := []definition.Reference{reference}; len(level) > 0 && len(found) == 0; {
		var below []definition.Reference
		for _, reference := range level {
			w := r.Documents(reference)
			if w == nil || seen[w] {
				continue
			}
			seen[w] = true
			if at == "" || dsl.TaskAt(w, at) != nil {
				found = append(found, w)
			}
			for _, child := range r.Children(reference) {
				below = append(below, child.Reference)
			}
		}
		level = below
	}
	return found
}
