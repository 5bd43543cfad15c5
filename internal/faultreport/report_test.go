package faultreport

import (
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/golden"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

const faultText = `document: { dsl: 1.0.3, namespace: demo, name: checkout, version: 0.1.0 }
do:
  - pay:
      try:
        - charge:
            call: http
            with: { method: post, endpoint: 'https://api.pay.test/charge' }
      catch:
        errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/timeout' } }
        retry:
          delay: { milliseconds: 300 }
          backoff: { exponential: {} }
          limit: { attempt: { count: 2 } }
        do:
          - note: { set: { late: true } }
  - guarded:
      try:
        - slow:
            wait: { seconds: 9 }
      catch:
        when: ${ .status == 418 }
      timeout: { after: { seconds: 2 } }
  - retried:
      try:
        - step: { wait: { seconds: 1 } }
      catch:
        errors: { with: { status: 503 } }
        retry: { delay: { seconds: 1 }, limit: { attempt: { count: 2 } } }
  - alone: { set: { x: '${ .a + 1 }' } }
`

// began is the start of the runs in these tests.
var began = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// Exit codes.
const faulted, timedOut, rejected = 10, 124, 4

const (
	charge     = "/do/0/pay/try/0/charge"
	guardedTry = "/do/1/guarded"
	step       = "/do/2/retried/try/0/step"
)

func TestFaultReport(t *testing.T) {
	timeout := func(kind, at string, after time.Duration, running ...any) *errors.Error {
		e := errors.Timeoutf("the time is over").At(at).With("timeoutKind", kind).With("startedAt", api.Time(began))
		return e.With("deadline", api.Time(began.Add(after))).With("running", running)
	}
	unavailable := &errors.Error{Type: errors.Communication, Status: 503, Title: "Service Unavailable", Detail: `the server said "overloaded"`, Instance: charge}
	for _, c := range []struct {
		name    string
		fault   *errors.Error
		records []interpreter.HistoryEvent
		exit    int
	}{
		{"filter_misses", unavailable, faultedAt(unavailable, "/do/0/pay!2/try/0/charge", charge), faulted},
		{"own_timeout", timeout("task", guardedTry, 2*time.Second, guardedTry+"/try/0/slow"), nil, timedOut},
		{"listened", timeout("task", "/do/3/alone", time.Hour, "/do/3/alone").With("listening", []any{
			map[string]any{"task": "/do/3/alone", "consumed": 1, "missing": []any{"/do/3/alone/listen/to/all/1", "/do/3/alone/listen/to/all/2"}},
			map[string]any{"task": "/do/4/other\x1b[31m", "consumed": 0, "missing": []any{}}, "no task",
		}), nil, timedOut},
		{"workflow_timeout", timeout("workflow", "/", time.Minute, charge), nil, timedOut},
		{"retries_used_up", stepError(), faultedAt(stepError(), "/do/2/retried!2/try/0/step", step), faulted},
		{"in_catch", errors.Runtimef("no").At("/do/0/pay/catch/do/0/note"), nil, faulted},
		{"condition", errors.Runtimef("no").At(guardedTry + "/try/0/slow"), nil, faulted},
		{"no_try", errors.Expressionf("cannot add: string and number").At("/do/3/alone"), nil, faulted},
		{"hostile", hostileError(), nil, faulted},
		{"many_lines", errors.Runtimef("what is wrong\n%sthe end", strings.Repeat("a line\n", 100)).At("/do/3/alone"), nil, faulted},
		{"input_rejected", errors.Validationf("the input does not fit its schema: missing properties: 'sku'").At("/"), nil, rejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := mustFailure(t, c.fault, c.records)
			f.Exit, f.Outcome.TimedOut, f.InputRejected = c.exit, c.exit == timedOut, c.exit == rejected
			golden.Match(t, "fault_"+c.name+".txt", f.Text(terminal.Style{}))
		})
	}
}

func stepError() *errors.Error {
	return &errors.Error{Type: errors.Communication, Status: 503, Title: "Communication Failed", Instance: step}
}

// hostileError tries to control the terminal and to fill it.
func hostileError() *errors.Error {
	e := &errors.Error{Type: "https://example.com/\x1b[31m", Status: 500, Title: "a\nb", Detail: strings.Repeat("x", 5000) + "\x1b]0;owned\a", Instance: "/do/3/alone"}
	return e.With("body", strings.Repeat("y", 5000))
}

// faultedAt is a run whose try retried until the task at path returned err.
func faultedAt(err *errors.Error, path, pointer string) []interpreter.HistoryEvent {
	try, _, _ := strings.Cut(path, "!")
	retry := func(after, delay time.Duration) interpreter.HistoryEvent {
		at := began.Add(after)
		return interpreter.HistoryEvent{At: at, Type: interpreter.RetryScheduled, Kind: dsl.KindTry, Path: interpreter.Path(try), Until: at.Add(delay)}
	}
	return []interpreter.HistoryEvent{
		{Type: interpreter.TaskStarted, Kind: dsl.KindTry, Path: interpreter.Path(try)},
		retry(0, 300*time.Millisecond), retry(time.Second, 600*time.Millisecond),
		{Type: interpreter.TaskFaulted, Kind: dsl.KindCallHTTP, Path: interpreter.Path(path), Pointer: dsl.Pointer(pointer), Error: err},
		{Type: interpreter.TaskFaulted, Kind: dsl.KindTry, Path: interpreter.Path(try), Pointer: dsl.Pointer(try), Error: err},
	}
}

func mustFailure(t *testing.T, fault *errors.Error, records []interpreter.HistoryEvent) Report {
	t.Helper()
	w, found := dsl.Parse("checkout.yaml", []byte(faultText))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	history := NewHistory()
	for _, r := range records {
		history.Observe(r)
	}
	outcome := execution.Outcome{Status: interpreter.StatusFaulted, Fault: fault, StartedAt: began, EndedAt: began.Add(2300 * time.Millisecond)}
	return Report{Workflow: w, ID: "01K7ZC", Outcome: outcome, History: history, Exit: faulted}
}

func TestMisfit(t *testing.T) {
	text, number := "wanted", 503
	e := &errors.Error{Type: errors.Runtime, Status: 500, Title: "Oh\x1b", Instance: "/do/0/a"}
	for _, c := range []struct {
		name   string
		filter *dsl.ErrorFilter
		want   string
	}{
		{"no filter", nil, ""},
		{"an empty filter", &dsl.ErrorFilter{}, ""},
		{"the other spelling of the type", &dsl.ErrorFilter{Type: errors.BaseOpenWorkflow + "runtime"}, ""},
		{"an alias of the type", &dsl.ErrorFilter{Type: "https://x.test/old"}, ""},
		{"another standard type", &dsl.ErrorFilter{Type: errors.Timeout}, "wants type=…/timeout; this is …/runtime"},
		{"a type of the author's", &dsl.ErrorFilter{Type: "https://x.test/timeout"}, "wants type=https://x.test/timeout; this is " + errors.Runtime},
		{"status", &dsl.ErrorFilter{Status: &number}, "wants status=503; this is 500"},
		{"title", &dsl.ErrorFilter{Title: &text}, `wants title="wanted"; this is "Oh\x1b"`},
		{"instance", &dsl.ErrorFilter{Instance: &text}, `wants instance="wanted"; this is "/do/0/a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := Report{Outcome: execution.Outcome{Fault: e}, ErrorAliases: errors.Aliases{"https://x.test/old": errors.Runtime}}
			if got := report.misfit(c.filter); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestProblemJSON(t *testing.T) {
	fault := stepError()
	f := mustFailure(t, fault, faultedAt(fault, "/do/2/retried!2/try/0/step", step))
	var b strings.Builder
	if err := api.Write(&b, f.Problem()); err != nil {
		t.Fatal(err)
	}
	golden.Match(t, "problem.json", b.String())
}
