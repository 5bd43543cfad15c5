package describe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
)

// notable is the minimum delay from a record to its commit that is shown.
const notable = 100 * time.Millisecond

// lateReport explains a late report (promises 214).
const lateReport = "it does not count; the reported work may have been done nevertheless"

// HistoryLine returns a record for people: its time, its type, its place, and the beginning of its data.
func HistoryLine(r api.HistoryEvent) string {
	at := api.ParseTime(r.At)
	words := []string{fmt.Sprintf("%5d  %s  %-18s", r.Seq, milliseconds(at), r.Type)}
	if late := api.ParseTime(r.CommittedAt).Sub(at); late >= notable {
		words = append(words, "(stored "+terminal.Elapsed(late)+" later)")
	}
	if path := cmp.Or(r.Path, r.Pointer); path != "" {
		words = append(words, terminal.Printable(path))
	}
	words = append(words, attempt(r)...)
	if r.Until != "" {
		words = append(words, "until="+milliseconds(api.ParseTime(r.Until)))
	}
	words = append(append(words, deadlinesOfRun(r.Timeouts)...), failed(r)...)
	if r.Parent != "" {
		words = append(words, "parent="+r.Parent)
	}
	if r.Child != "" {
		words = append(words, "run="+r.Child)
	}
	if r.Actor != "" {
		words = append(words, "by="+terminal.Printable(r.Actor))
	}
	if r.Data != nil {
		if data, err := expr.Encode(r.Data); err == nil {
			words = append(words, terminal.Printable(shorten.To(string(data), 120)))
		}
	}
	return strings.TrimRight(strings.Join(words, " "), " ") + "\n"
}

// deadlinesOfRun returns the timeouts of the run and their deadlines, with the names of the JSON.
func deadlinesOfRun(t api.Timeouts) (words []string) {
	length := func(name string, seconds *float64) {
		if seconds != nil {
			words = append(words, name+"="+lasting(*seconds))
		}
	}
	at := func(name, at string) {
		if at != "" {
			words = append(words, name+"="+milliseconds(api.ParseTime(at)))
		}
	}
	length("executionTimeout", t.ExecutionTimeoutSeconds)
	at("executionDeadlineAt", t.ExecutionDeadlineAt)
	length("runTimeout", t.RunTimeoutSeconds)
	at("runDeadlineAt", t.RunDeadlineAt)
	return words
}

// failed returns the error of a record, its category, its cause, the called address, the retry, and the kind of its timeout.
func failed(r api.HistoryEvent) (words []string) {
	if r.Error == nil {
		return nil
	}
	e := api.ParseError(r.Error)
	words = append(words, terminal.Printable(shorten.To(e.Error(), 200)))
	add := func(name, value string) {
		if value != "" {
			words = append(words, name+"="+value)
		}
	}
	add("category", r.Category)
	add("propagation", r.Propagation)
	if called := e.Reached().String(); called != "" {
		add("called", strconv.Quote(terminal.Printable(called)))
	}
	words = append(words, nonRetryable(r.Error)...)
	add("timeoutKind", r.TimeoutKind)
	return words
}

// nonRetryable returns the mark of an error that is not retried; empty for other errors.
func nonRetryable(e any) []string {
	if marked, _ := api.ParseError(e).Extensions[interpreter.MemberNonRetryable].(bool); marked {
		return []string{"non-retryable"}
	}
	return nil
}

// attempt returns the attempt of a record, its worker, and whether its report was late.
func attempt(r api.HistoryEvent) (words []string) {
	if r.Attempt > 1 {
		words = append(words, fmt.Sprintf("attempt=%d", r.Attempt))
	}
	if r.Worker != "" {
		words = append(words, "worker="+terminal.Printable(r.Worker))
	}
	if r.StartedAt != "" {
		words = append(words, "taken="+milliseconds(api.ParseTime(r.StartedAt)))
	}
	if r.DelaySeconds != nil {
		words = append(words, "delay="+lasting(*r.DelaySeconds))
	}
	if r.Activity != nil {
		words = append(words, terms(r.Activity)...)
	}
	if r.Report != "" {
		words = append(words, "reported="+r.Report)
	}
	if r.Type == string(interpreter.ResultLate) {
		words = append(words, lateReport)
	}
	return words
}

// terms are the type, queue, timeouts and retry policy of an activity.
func terms(a *api.ActivityTerms) []string {
	words := []string{"type=" + terminal.Printable(a.Type), "queue=" + terminal.Printable(a.Queue)}
	if t := timeouts(a.Timeouts); t != "-" {
		words = append(words, t)
	}
	if a.Retry.MaxAttempts > 0 {
		words = append(words, fmt.Sprintf("maxAttempts=%d", a.Retry.MaxAttempts))
	}
	return append(words, "retried="+strconv.Quote(triedAgain(a.Retry)))
}

func milliseconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
