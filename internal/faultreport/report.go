// Package faultreport explains why a run did not complete: the fault, its place in the document, the request and the answer, the reasons why no catch
// took the error, and the remedy; for people, and as RFC 9457 JSON. The command shows it when a run ends. It only reads known data, and runs nothing
// again.
package faultreport

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
)

// Report contains the known data of a run that did not complete.
type Report struct {
	Workflow *dsl.Workflow
	ID       string
	Outcome  execution.Outcome
	History  *History
	Exit     int    // the exit code of the command
	Signal   string // the signal that interrupted it; empty for none
	// InputRejected is true if the run did not begin, because its input does not fit. TypedInput is the part of the input that is text and could have
	// been JSON, in the form for JSON.
	InputRejected bool
	TypedInput    string
	// ErrorAliases are the aliases of types of errors in catches.
	ErrorAliases errors.Aliases
	// Kept is the name of the run in other commands, with the flag of its store if they need it; empty for a run in memory.
	Kept string
	// EndedBefore is the end of the run, if it was over before the command began.
	EndedBefore time.Time
	// Documents returns the workflow of a reference, if it could be read; nil knows none.
	Documents func(definition.Reference) *dsl.Workflow
	// Children returns the workflows that the workflow of Documents runs, including those of remote functions.
	Children func(definition.Reference) []definition.Child
	// StartedBy returns the workflow that a task of the workflow of Documents runs, including tasks of remote functions.
	StartedBy func(definition.Reference, dsl.Pointer) (child definition.Reference, ok bool)

	placed string // the place of the error, if Placed was called
}

// Placed returns the report with the current results of Documents, Children and StartedBy, whose sources may be gone later.
func (r Report) Placed() Report {
	if r.Outcome.Fault != nil {
		r.placed = r.where()
	}
	return r
}

const (
	shownDetail = 2100 // bytes of an error's detail
	detailHead  = 4    // displayed lines from the beginning of a longer detail
	detailTail  = 8    // displayed lines from its end
	headWidth   = 72   // column of the run's id, if the line leaves room
)

// Text returns the report for people, which ends in a newline.
func (r Report) Text(l terminal.Style) string {
	fault := r.Outcome.Fault
	if fault == nil {
		return r.stopped(l)
	}
	head := fmt.Sprintf("%s %s faulted in %s", l.Sign("✖"), l.Text(r.name()), terminal.Elapsed(r.Outcome.Took()))
	tail := fmt.Sprintf("run %s · exit %d", terminal.Printable(r.ID), r.Exit)
	var b strings.Builder
	b.WriteString(l.Paint("1;31", head) + strings.Repeat(" ", max(2, headWidth-terminal.Width(head))) + l.Dim(l.Text(tail)) + "\n")
	line := func(text string) {
		if text != "" {
			b.WriteString("  " + l.Text(text) + "\n")
		}
	}
	line(r.before())
	line(r.title())
	line(cmp.Or(r.placed, r.where()))
	sent, got := r.exchange()
	line(labelled(r.sentLabel(got), sent))
	line(labelled("got", got))
	if got == "" {
		line(labelled("detail", detailLines(fault.Detail)))
	}
	for _, text := range r.expression() {
		line(text)
	}
	line(r.timeout())
	for _, text := range labelledFirst("listened", r.listening()) {
		line(text)
	}
	line(r.extensions())
	for _, text := range labelledFirst("why not caught", r.whyNotCaught()) {
		line(text)
	}
	line(labelled("to handle it", r.remedy()))
	line("next: " + r.next())
	return b.String()
}

// sentLabel returns the label of the request. Without a token or a secret, the request may not have been sent.
func (r Report) sentLabel(got string) string {
	if kind := r.Outcome.Fault.Type; got == "" && (kind == errors.Authentication || kind == errors.Authorization) {
		return "call"
	}
	return "sent"
}

func (r Report) name() string { return terminal.Printable(r.Workflow.Document.String()) }

// stopped reports a run that was cancelled from outside.
func (r Report) stopped(l terminal.Style) string {
	what := "was cancelled"
	if r.Signal != "" {
		what = "was interrupted (" + r.Signal + ")"
	}
	text := fmt.Sprintf("%s %s %s after %s   run %s · exit %d", l.Sign("⊘"), r.name(), what,
		terminal.Elapsed(r.Outcome.Took()), terminal.Printable(r.ID), r.Exit)
	again := "a run in memory cannot be kept; to start over: swrun run " + terminal.DocumentWord(r.Workflow.Source.File)
	if r.Kept != "" {
		again = "next: swrun history " + r.Kept
	}
	if before := r.before(); before != "" {
		again = before + "\n  " + again
	}
	return l.Yellow(l.Text(text)) + "\n" + l.Text("  "+again) + "\n"
}

// before reports that the run was over before, and that nothing has run now.
func (r Report) before() string {
	if r.EndedBefore.IsZero() {
		return ""
	}
	return "nothing has run now: this run ended before, at " + api.Time(r.EndedBefore.Truncate(time.Second))
}

// labelled aligns the text after names of different lengths.
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

// labelledFirst aligns texts below each other. The first has the name.
func labelledFirst(name string, texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, labelled(name, text))
		name = ""
	}
	return all
}

func (r Report) whyNotCaught() (all []string) {
	for _, c := range r.missedCatches() {
		all = append(all, c.reason)
	}
	return all
}

// detailLines formats a detail of several lines, such as the standard error of a process, as aligned lines: the first and the last of many.
func detailLines(detail string) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(shorten.To(detail, shownDetail), "\r\n", "\n"), "\n"), "\n")
	if left := len(lines) - detailHead - detailTail; left > 1 {
		lines = slices.Replace(lines, detailHead, detailHead+left, "…")
	}
	for i, l := range lines {
		lines[i] = terminal.Printable(strings.ReplaceAll(l, "\t", "    "))
	}
	return strings.Join(lines, "\n         ")
}

func (r Report) title() string {
	fault := r.Outcome.Fault
	title := fmt.Sprintf("%s %d", terminal.Printable(shorten.To(errors.Name(fault.Type), 200)), fault.Status)
	if fault.Title != "" {
		title += " " + terminal.Printable(shorten.To(fault.Title, 200))
	}
	return title
}

// timeout describes the timeout that fired: its kind, its length, and the tasks in progress.
func (r Report) timeout() string {
	fault := r.Outcome.Fault
	length, ok := api.TimeoutLength(fault)
	if !ok || !r.Outcome.TimedOut {
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
	text := fmt.Sprintf("%s of %s, from %v to %v", scope, duration.Format(length), fault.Extensions["startedAt"], fault.Extensions["deadline"])
	if running, ok := fault.Extensions["running"].([]any); ok && len(running) > 0 {
		text += "; running: " + strings.Join(texts(running, 5), ", ")
	}
	return labelled("fired", terminal.Printable(shorten.To(text, shownDetail)))
}

// listening describes the consumed and the missing events of the tasks that listened at the timeout.
func (r Report) listening() (all []string) {
	tasks, _ := r.Outcome.Fault.Extensions["listening"].([]any)
	if !r.Outcome.TimedOut {
		return nil // the member comes from the author
	}
	for _, v := range tasks[:min(len(tasks), shownListening)] {
		task, ok := v.(map[string]any)
		if !ok {
			continue
		}
		missing, _ := task["missing"].([]any)
		text := fmt.Sprintf("%v had consumed %v", task["task"], task["consumed"])
		if len(missing) > 0 {
			text += ", and waited for an event that passes " + strings.Join(texts(missing, 5), " or ")
		}
		all = append(all, terminal.Printable(shorten.To(text, shownDetail)))
	}
	if more := len(tasks) - shownListening; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return all
}

// shownListening is the maximum number of displayed listening tasks.
const shownListening = 5

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

// exchange returns the request and the answer of a failed call, if the error contains them.
func (r Report) exchange() (sent, got string) {
	member := func(name string) map[string]any {
		object, _ := r.Outcome.Fault.Extensions[name].(map[string]any) // a member of another type is shown in another line
		return object
	}
	if request := member("request"); request["method"] != nil {
		sent = terminal.Printable(shorten.To(fmt.Sprint(request["method"], " ", request["uri"]), 300))
	}
	if response := member("response"); sent != "" && response["statusCode"] != nil {
		got = fmt.Sprint(response["statusCode"])
		if detail := r.Outcome.Fault.Detail; detail != "" {
			got += "  " + detailLines(detail)
		}
	}
	return sent, got
}

// extensions returns the further members of the error, which are in the words of the author or the performer.
func (r Report) extensions() string {
	members := maps.Clone(r.Outcome.Fault.Extensions)
	if sent, _ := r.exchange(); sent != "" {
		delete(members, "request")
		delete(members, "response")
	}
	if _, cites := r.Outcome.Fault.ExpressionContext(); cites {
		delete(members, "expression")
	}
	if r.Outcome.TimedOut || len(members) == 0 {
		return ""
	}
	text, err := expr.Encode(members)
	if err != nil {
		return "" // the report is complete without them
	}
	return labelled("with", terminal.Printable(shorten.To(string(text), 500)))
}

func (r Report) next() string {
	name := errors.StandardName(r.Outcome.Fault.Type)
	if r.InputRejected {
		return r.otherInput(terminal.Printable(r.Workflow.Source.File))
	}
	file := terminal.DocumentWord(r.Workflow.Source.File)
	var parts []string
	secrets := name == "authorization" && len(r.Workflow.Use.Secrets) > 0
	if secrets {
		parts = append(parts, "provide secrets with SWRUN_SECRET_<NAME> or --secrets FILE"+r.toAnother())
	}
	switch {
	case r.Kept != "": // running it again would repeat its effects as another run
		parts = append(parts, "swrun history "+r.Kept, "swrun describe "+r.Kept)
	case !secrets:
		parts = append(parts, "swrun run --progress lines "+file)
	}
	if !secrets {
		parts = append(parts, "swrun lint "+file)
	}
	if name != "" {
		parts = append(parts, "swrun explain "+name)
	}
	return strings.Join(parts, "   ·   ")
}

// otherInput returns the remedy for a refused input.
func (r Report) otherInput(file string) string {
	text := "give another input with -i (or -i @file)" + r.toAnother() + ", or change input.schema in " + file
	if r.TypedInput != "" {
		text = "name=value is text; for a number, a boolean or null write -i " + terminal.ShellWord(r.TypedInput) + r.toAnother()
	}
	if r.Kept != "" {
		text += "   ·   swrun delete " + r.Kept + " frees the id"
	}
	return text
}

// toAnother reports that a kept run stays as it is: the remedy is for another run.
func (r Report) toAnother() string {
	if r.Kept == "" {
		return ""
	}
	return " to a run with another --id"
}
