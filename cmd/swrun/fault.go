package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
)

// This file tells people why a run did not complete (ux.md 2.3).

// failure is what is known of a run that faulted.
type failure struct {
	subject subject
	outcome execution.Outcome
	trail   *trail
	exit    int
	inputs  []string // the values of -i
	others  *library // of the documents that it runs; nil if nobody knows
}

const (
	shownDetail = 2100 // bytes of an error's detail
	detailHead  = 4    // lines of a longer one that are shown from its beginning
	detailTail  = 8    // and from its end
	headWidth   = 72   // where the run's id stands if the line leaves room
)

// Text returns the report, which ends in a newline.
func (f failure) text(l terminal.Style) string {
	fault := f.outcome.Fault
	head := fmt.Sprintf("%s %s faulted in %s", l.Sign("✖"), l.Text(f.subject.name()), terminal.Elapsed(f.outcome.EndedAt.Sub(f.outcome.StartedAt)))
	tail := fmt.Sprintf("run %s · exit %d", terminal.Printable(f.subject.id), f.exit)
	var b strings.Builder
	b.WriteString(l.Paint("1;31", head) + strings.Repeat(" ", max(2, headWidth-terminal.Width(head))) + l.Dim(l.Text(tail)) + "\n")
	line := func(text string) {
		if text != "" {
			b.WriteString("  " + l.Text(text) + "\n")
		}
	}
	line(f.title())
	line(f.where())
	sent, got := f.exchange()
	line(labelled("sent", sent))
	line(labelled("got", got))
	if got == "" {
		line(labelled("detail", detailLines(fault.Detail)))
	}
	for _, text := range f.expression() {
		line(text)
	}
	line(f.timeout())
	line(f.extensions())
	for i, c := range f.considered() {
		name := ""
		if i == 0 {
			name = "why not caught"
		}
		line(labelled(name, c.reason))
	}
	line(labelled("to handle it", f.remedy()))
	line("next: " + f.next())
	return b.String()
}

// labelled aligns the text behind short names and long ones.
func labelled(name, text string) string {
	switch {
	case text == "":
		return ""
	case len(name) > 6:
		return fmt.Sprintf("%-15s %s", name+":", text)
	case name == "":
		return fmt.Sprintf("%-15s %s", "", text)
	}
	return fmt.Sprintf("%-6s %s", name, text)
}

// detailLines shows a detail of several lines, such as what a process wrote to standard error, as lines that stand
// below each other: of many the first and the last, which tell most.
func detailLines(detail string) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(terminal.Shorten(detail, shownDetail), "\r\n", "\n"), "\n"), "\n")
	if left := len(lines) - detailHead - detailTail; left > 1 {
		lines = slices.Replace(lines, detailHead, detailHead+left, "…")
	}
	for i, l := range lines {
		lines[i] = terminal.Printable(strings.ReplaceAll(l, "\t", "    "))
	}
	return strings.Join(lines, "\n         ")
}

func (f failure) title() string {
	fault := f.outcome.Fault
	title := fmt.Sprintf("%s %d", terminal.Printable(terminal.Shorten(errors.Name(fault.Type), 200)), fault.Status)
	if fault.Title != "" {
		title += " " + terminal.Printable(terminal.Shorten(fault.Title, 200))
	}
	return title
}

// pointer returns the task that failed, as it stands in the document.
func (f failure) pointer() dsl.Pointer {
	if origin, ok := f.trail.origin(f.outcome.Fault); ok {
		return origin.Place()
	}
	if f.outcome.Fault.Instance == "/" {
		return ""
	}
	return dsl.Pointer(f.outcome.Fault.Instance)
}

func (f failure) where() string {
	instance := f.outcome.Fault.Instance
	origin, known := f.trail.origin(f.outcome.Fault)
	if known && instance == "" {
		instance = string(origin.Pointer)
	}
	text := fmt.Sprintf("at %s (%s)", terminal.Printable(terminal.Shorten(instance, 300)), f.location())
	if stands := origin.Place(); known && stands != origin.Pointer { // in a function
		text = fmt.Sprintf("at %s, which runs %s (%s)", terminal.Printable(terminal.Shorten(instance, 300)), terminal.Printable(string(stands)), f.location())
	}
	if known && origin.Kind == dsl.KindRunWorkflow && string(origin.Pointer) != instance {
		return f.child(origin, instance)
	}
	if known && string(origin.Pointer) != instance {
		text += " in task " + terminal.Printable(string(origin.Pointer))
	}
	a := f.trail.attemptsOf(origin)
	if a.number == 0 {
		return text
	}
	text += fmt.Sprintf(" attempt %d", a.number)
	if limit := f.attemptLimit(a); limit > 0 {
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

// child tells where an error stands that came out of a child workflow: its instance is a task of the child's document.
func (f failure) child(origin interpreter.HistoryEvent, instance string) string {
	by := fmt.Sprintf("of a workflow that task %s (%s) has started", terminal.Printable(string(origin.Pointer)), f.location())
	task, ok := dsl.TaskAt(f.subject.workflow, origin.Place()).(*dsl.RunWorkflow)
	if !ok || f.others == nil {
		return fmt.Sprintf("at %s %s", terminal.Printable(terminal.Shorten(instance, 300)), by)
	}
	reference := definition.Reference{Namespace: task.Namespace, Name: task.Workflow, Version: task.Version}
	at := dsl.Pointer(strings.TrimSuffix(instance, "/"))
	holders := f.others.holders(reference, at)
	if len(holders) != 1 {
		return fmt.Sprintf("at %s of %s/%s, or of what that has started; it is run by task %s (%s)", terminal.Printable(terminal.Shorten(instance, 300)),
			terminal.Printable(task.Namespace), terminal.Printable(task.Workflow), terminal.Printable(string(origin.Pointer)), f.location())
	}
	document := holders[0].document.workflow
	text := fmt.Sprintf("at %s (%s:%d) of %s/%s", terminal.Printable(terminal.Shorten(instance, 300)), terminal.Printable(document.Source.File), document.Source.Key(at).Start.Line,
		terminal.Printable(document.Document.Namespace), terminal.Printable(document.Document.Name))
	if holders[0] != f.others.named(reference) {
		text += fmt.Sprintf(", below %s/%s", terminal.Printable(task.Namespace), terminal.Printable(task.Workflow))
	}
	return text + fmt.Sprintf(", which task %s (%s) has started", terminal.Printable(string(origin.Pointer)), f.location())
}

func (f failure) attemptLimit(a attempts) int {
	try, ok := dsl.TaskAt(f.subject.workflow, a.try).(*dsl.TryTask)
	if !ok {
		return 0
	}
	if policy := f.subject.workflow.RetryPolicyOf(&try.Catch); policy != nil && policy.AttemptCount != nil {
		return *policy.AttemptCount + 1
	}
	return 0
}

func (f failure) location() string {
	source := f.subject.workflow.Source
	return fmt.Sprintf("%s:%d", terminal.Printable(source.File), source.Key(f.pointer()).Start.Line)
}

// timeout says which timeout fired, how long it had, and what was going on.
func (f failure) timeout() string {
	fault := f.outcome.Fault
	length, ok := api.TimeoutLength(fault)
	if !ok || !f.outcome.TimedOut {
		return ""
	}
	kind, _ := fault.Extensions["timeoutKind"].(string)
	scope := map[string]string{
		"workflow": "the workflow's timeout", "execution": "the timeout of the execution", "run": "the timeout of the run", "task": "the task's timeout", "attempt": "the limit of one attempt (retry.limit.attempt.duration)",
		"retry": "the limit of all attempts (retry.limit.duration)",
	}[kind]
	if scope == "" {
		scope = "a timeout"
	}
	text := fmt.Sprintf("%s of %s, from %v to %v", scope, dsl.Span(length), fault.Extensions["startedAt"], fault.Extensions["deadline"])
	if running, ok := fault.Extensions["running"].([]any); ok && len(running) > 0 {
		text += "; running: " + strings.Join(texts(running, 5), ", ")
	}
	return labelled("fired", terminal.Printable(terminal.Shorten(text, shownDetail)))
}

func texts(values []any, limit int) []string {
	var all []string
	for _, v := range values[:min(len(values), limit)] {
		all = append(all, fmt.Sprint(v))
	}
	if more := len(values) - limit; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return all
}

// extensions shows the further members of the error, as they are the author's or the performer's own words.
// exchange tells what a call that failed has sent and got, if the error knows.
func (f failure) exchange() (sent, got string) {
	member := func(name string) map[string]any {
		object, _ := f.outcome.Fault.Extensions[name].(map[string]any) // What else it is has its own line
		return object
	}
	if request := member("request"); request["method"] != nil {
		sent = terminal.Printable(terminal.Shorten(fmt.Sprint(request["method"], " ", request["uri"]), 300))
	}
	if response := member("response"); sent != "" && response["statusCode"] != nil {
		got = fmt.Sprint(response["statusCode"])
		if detail := f.outcome.Fault.Detail; detail != "" {
			got += "  " + detailLines(detail)
		}
	}
	return sent, got
}

func (f failure) extensions() string {
	members := maps.Clone(f.outcome.Fault.Extensions)
	if sent, _ := f.exchange(); sent != "" {
		delete(members, "request")
		delete(members, "response")
	}
	if _, cites := f.outcome.Fault.Cited(); cites {
		delete(members, "expression")
	}
	if f.outcome.TimedOut || len(members) == 0 {
		return ""
	}
	text, err := expr.Encode(members)
	if err != nil {
		return "" // they are extras: the report goes on without them
	}
	return labelled("with", terminal.Printable(terminal.Shorten(string(text), 500)))
}

func (f failure) next() string {
	name := errors.StandardName(f.outcome.Fault.Type)
	file := terminal.ShellWord(f.subject.workflow.Source.File)
	if f.exit == exitInput {
		if typed := typedInput(f.inputs); typed != "" {
			return "name=value is text; for a number, a boolean or null write -i " + terminal.ShellWord(typed)
		}
		return "give another input with -i (or -i @file), or change input.schema in " + file
	}
	if name == "authorization" && len(f.subject.workflow.Use.Secrets) > 0 {
		return "provide secrets with SWRUN_SECRET_<NAME> or --secrets FILE   ·   swrun explain authorization"
	}
	parts := []string{"swrun run --progress lines " + file, "swrun lint " + file}
	if name != "" {
		parts = append(parts, "swrun explain "+name)
	}
	return strings.Join(parts, "   ·   ")
}
