package progress

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/golden"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redact"
	"github.com/swrun/swrun/runtime/execution"
)

// quoteTime is the start of the run of quote.
var quoteTime = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// quote is a workflow for displaying a run.
func quote() *dsl.Workflow {
	ask := &dsl.WaitTask{TaskBase: dsl.TaskBase{Pointer: "/do/0/quote/try/0/askSupplier", Name: "askSupplier"}}
	use := &dsl.SetTask{TaskBase: dsl.TaskBase{Pointer: "/do/0/quote/catch/do/0/useCached", Name: "useCached"}}
	try := &dsl.TryTask{
		TaskBase: dsl.TaskBase{Pointer: "/do/0/quote", Name: "quote"}, Try: dsl.TaskList{ask},
		Catch: dsl.Catch{Errors: &dsl.ErrorFilter{Type: errors.Timeout}, Do: dsl.TaskList{use}},
	}
	return &dsl.Workflow{
		Document: dsl.Document{Namespace: "demo", Name: "quote", Version: "0.1.0"},
		Timeout:  &dsl.Timeout{After: &dsl.Duration{Exact: 5 * time.Minute}}, Do: dsl.TaskList{try},
	}
}

// quoteRecords is a run of quote in which the first task times out.
func quoteRecords() []interpreter.HistoryEvent {
	const try, ask, use = "/do/0/quote", "/do/0/quote/try/0/askSupplier", "/do/0/quote/catch/do/0/useCached"
	timeout := errors.Timeoutf("the task did not finish within 1s").At(ask).
		With("timeoutKind", "task").With("startedAt", api.Time(quoteTime)).With("deadline", api.Time(quoteTime.Add(time.Second)))
	task := func(after time.Duration, typ interpreter.HistoryEventType, kind dsl.Kind, at string) interpreter.HistoryEvent {
		return interpreter.HistoryEvent{At: quoteTime.Add(after), Type: typ, Kind: kind, Pointer: dsl.Pointer(at), Path: interpreter.Path(at)}
	}
	records := []interpreter.HistoryEvent{
		{At: quoteTime, Type: interpreter.WorkflowStarted},
		task(0, interpreter.TaskStarted, dsl.KindTry, try),
		task(0, interpreter.TaskStarted, dsl.KindWait, ask),
		task(0, interpreter.TaskWaiting, dsl.KindWait, ask),
		task(time.Second, interpreter.TaskFaulted, dsl.KindWait, ask),
		task(time.Second, interpreter.ErrorCaught, dsl.KindTry, try),
		task(time.Second, interpreter.TaskStarted, dsl.KindSet, use),
		task(time.Second+time.Millisecond, interpreter.TaskCompleted, dsl.KindSet, use),
		task(time.Second+time.Millisecond, interpreter.TaskCompleted, dsl.KindTry, try),
		{At: quoteTime.Add(time.Second + time.Millisecond), Type: interpreter.WorkflowCompleted},
	}
	records[2].Until = quoteTime.Add(time.Second)
	records[3].Until = quoteTime.Add(2 * time.Second)
	records[4].Error, records[5].Error, records[5].CaughtBy = timeout, timeout, try
	records[4].Timeout, records[5].Timeout = interpreter.DeadlineTask, interpreter.DeadlineTask
	for i := range records {
		records[i].Seq = i + 1
	}
	return records
}

func endOf(records []interpreter.HistoryEvent) execution.Outcome {
	return execution.Outcome{
		ID: "01K7ZA", Status: interpreter.StatusCompleted, StartedAt: records[0].At, EndedAt: records[len(records)-1].At,
	}
}

func quoteRun() Run { return Run{Workflow: quote(), ID: "01K7ZA"} }

func newTreeView(b *bytes.Buffer, s Run, l terminal.Style) *treeView {
	return &treeView{w: b, look: l, run: s, tree: newTree(s.Workflow), size: func() (int, int) { return 80, 24 }}
}

func TestTreeView(t *testing.T) {
	for _, c := range []struct {
		name string
		look terminal.Style
	}{{"plain", terminal.Style{}}, {"ascii", terminal.Style{ASCII: true}}, {"color", terminal.Style{Color: true}}} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			v := newTreeView(&b, quoteRun(), c.look)
			for _, r := range quoteRecords() {
				v.observe(r)
			}
			v.end(endOf(quoteRecords()), false)
			golden.Match(t, "tree_"+c.name+".txt", b.String())
		})
	}
}

func TestTreeOfOneTaskHasNoBranches(t *testing.T) {
	var b bytes.Buffer
	w := &dsl.Workflow{Document: dsl.Document{Namespace: "demo", Name: "hello", Version: "0.1.0"}}
	v := newTreeView(&b, Run{Workflow: w, ID: "01K7Z9"}, terminal.Style{})
	records := []interpreter.HistoryEvent{
		{At: quoteTime, Type: interpreter.WorkflowStarted},
		{At: quoteTime, Type: interpreter.TaskStarted, Kind: dsl.KindSet, Pointer: "/do/0/greet", Path: "/do/0/greet"},
		{At: quoteTime.Add(time.Millisecond), Type: interpreter.TaskCompleted, Kind: dsl.KindSet, Pointer: "/do/0/greet", Path: "/do/0/greet"},
		{At: quoteTime.Add(4 * time.Millisecond), Type: interpreter.WorkflowCompleted},
	}
	for _, r := range records {
		v.observe(r)
	}
	v.end(endOf(records), false)
	want := "● demo/hello:0.1.0  run 01K7Z9\n✔ greet   set   1ms\n✔ completed in 4ms\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTreeWhileItRuns(t *testing.T) {
	var b bytes.Buffer
	v := newTreeView(&b, quoteRun(), terminal.Style{})
	v.live = true
	for _, r := range quoteRecords()[:4] {
		v.observe(r)
	}
	v.tick(quoteTime.Add(400 * time.Millisecond))
	got := b.String()
	for _, part := range []string{"├─ ▶ quote", "│  └─ ▶ askSupplier", "⏱ 1.6s left of 2s", "⏱ times out in 600ms"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

func TestRedrawClearsWhatWasDrawn(t *testing.T) {
	var b bytes.Buffer
	width := 80
	v := newTreeView(&b, quoteRun(), terminal.Style{})
	v.live, v.size = true, func() (int, int) { return width, 24 }
	for _, r := range quoteRecords()[:4] {
		v.observe(r)
	}
	v.tick(quoteTime.Add(200 * time.Millisecond))
	b.Reset()
	v.tick(quoteTime.Add(400 * time.Millisecond))
	if !strings.HasPrefix(b.String(), "\x1b[2A\r\x1b[J") {
		t.Errorf("two rows must be cleared, got %q", b.String())
	}
	b.Reset()
	width = 40 // the earlier rows have up to 80 columns, and fill two lines each now
	v.tick(quoteTime.Add(600 * time.Millisecond))
	if !regexp.MustCompile(`^\x1b\[[34]A`).MatchString(b.String()) {
		t.Errorf("wrapped rows must be counted, got %q", b.String())
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if w := terminal.Width(line); w >= 40 {
			t.Errorf("%q is %d columns wide in a terminal of 40", line, w)
		}
	}
}

func TestTreeOfALongLoopStaysSmall(t *testing.T) {
	var b bytes.Buffer
	w := &dsl.Workflow{Document: dsl.Document{Namespace: "demo", Name: "loop", Version: "0.1.0"}}
	v := newTreeView(&b, Run{Workflow: w}, terminal.Style{})
	observe := func(typ interpreter.HistoryEventType, kind dsl.Kind, path string) {
		v.observe(interpreter.HistoryEvent{At: quoteTime, Type: typ, Kind: kind, Pointer: "/do/0/all/do/0/one", Path: interpreter.Path(path)})
	}
	observe(interpreter.TaskStarted, dsl.KindFor, "/do/0/all")
	for i := range 10000 {
		path := fmt.Sprintf("/do/0/all[%d]/do/0/one", i)
		observe(interpreter.TaskStarted, dsl.KindSet, path)
		observe(interpreter.TaskCompleted, dsl.KindSet, path)
	}
	if n := len(v.tree.root.children[0].children); n > keptPasses {
		t.Errorf("%d children are kept", n)
	}
	if n := len(v.tree.open); n != 1 {
		t.Errorf("%d tasks are in progress, want 1", n)
	}
	v.end(execution.Outcome{}, true)
	if got := b.String(); !strings.Contains(got, "… 9988 earlier") || !strings.Contains(got, "[9999] one") {
		t.Errorf("got\n%s", got)
	}
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	l := newLines(&b, quoteRun(), func() time.Time { return quoteTime })
	for _, r := range quoteRecords() {
		l.observe(r)
	}
	l.end(endOf(quoteRecords()), false)
	golden.Match(t, "lines.txt", b.String())
}

// TestLinesOnVirtualTime: an event without its own time has the time of the last record, and not of this machine.
func TestLinesOnVirtualTime(t *testing.T) {
	var b bytes.Buffer
	run := quoteRun()
	run.Virtual = true
	l := newLines(&b, run, func() time.Time { return quoteTime.AddDate(1, 0, 0) })
	l.observe(quoteRecords()[0])
	l.publish(map[string]any{"type": "a.b", "id": "1"})
	l.outlast([]string{"/do/0/one"})
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "2026-05-04T10:00:00.000Z ") {
			t.Error(line)
		}
	}
}

func TestLinesShowThatARunIsAlive(t *testing.T) {
	var b bytes.Buffer
	l := newLines(&b, quoteRun(), func() time.Time { return quoteTime })
	for _, r := range quoteRecords()[:4] {
		l.observe(r)
	}
	b.Reset()
	l.tick(quoteTime.Add(29 * time.Second))
	if b.Len() > 0 {
		t.Errorf("got %q after 29 s", b.String())
	}
	l.tick(quoteTime.Add(30 * time.Second))
	want := "2026-05-04T10:00:30.000Z running            demo/quote:0.1.0 run=01K7ZA at /do/0/quote/try/0/askSupplier\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLifecycleEvents(t *testing.T) {
	var b bytes.Buffer
	l := &lifecycle{w: &b, run: quoteRun(), secrets: redact.New(nil, false)}
	for _, r := range quoteRecords() {
		l.observe(r)
	}
	golden.Match(t, "lifecycle.jsonl", b.String())
}

func TestTreeTellsOfRetries(t *testing.T) {
	var b bytes.Buffer
	v := newTreeView(&b, quoteRun(), terminal.Style{})
	records := append(quoteRecords()[:5],
		interpreter.HistoryEvent{At: quoteTime, Type: interpreter.RetryScheduled, Kind: dsl.KindTry, Pointer: "/do/0/quote", Path: "/do/0/quote", Attempt: 2, Until: quoteTime.Add(300 * time.Millisecond)},
		quoteRecords()[5],
		interpreter.HistoryEvent{At: quoteTime, Type: interpreter.TaskStarted, Kind: dsl.KindWait, Pointer: "/do/0/quote/try/0/askSupplier", Path: "/do/0/quote!1/try/0/askSupplier"},
	)
	for _, r := range records {
		v.observe(r)
	}
	v.end(endOf(records), true)
	for _, part := range []string{"timed out after 1s  → attempt 2 after 300ms", "└─ ▶ askSupplier #2"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in\n%s", part, b.String())
		}
	}
}

// manyBranches is a fork of n branches that wait, the first one the longest.
func manyBranches(n int) []interpreter.HistoryEvent {
	records := []interpreter.HistoryEvent{{At: quoteTime, Type: interpreter.WorkflowStarted}, started(dsl.KindFork, "/do/0/all", 0)}
	for i := range n {
		at := fmt.Sprintf("/do/0/all/fork/branches/%d/branch%d", i, i)
		records = append(records, started(dsl.KindDo, at, 0), started(dsl.KindWait, at+"/do/0/nap", 0),
			interpreter.HistoryEvent{At: quoteTime, Type: interpreter.TaskWaiting, Kind: dsl.KindWait, Pointer: dsl.Pointer(at + "/do/0/nap"), Path: interpreter.Path(at + "/do/0/nap"), Until: quoteTime.Add(time.Duration(n-i) * time.Minute)})
	}
	return records
}

func started(kind dsl.Kind, at string, timeout time.Duration) interpreter.HistoryEvent {
	r := interpreter.HistoryEvent{At: quoteTime, Type: interpreter.TaskStarted, Kind: kind, Pointer: dsl.Pointer(at), Path: interpreter.Path(at)}
	if timeout > 0 {
		r.Until = quoteTime.Add(timeout)
	}
	return r
}

// drawn returns the lines of a live tree on a terminal of a size.
func drawn(t *testing.T, records []interpreter.HistoryEvent, width, height int) []string {
	t.Helper()
	var b bytes.Buffer
	v := newTreeView(&b, quoteRun(), terminal.Style{})
	v.live, v.size = true, func() (int, int) { return width, height }
	for _, r := range records {
		v.observe(r)
	}
	v.tick(quoteTime.Add(400 * time.Millisecond))
	for _, line := range v.drawn {
		if terminal.Width(line) >= width {
			t.Errorf("%q is wider than a terminal of %d columns", line, width)
		}
	}
	if len(v.drawn) > height-2 {
		t.Errorf("%d lines stand on a terminal of %d", len(v.drawn), height)
	}
	return v.drawn
}

func TestNarrowTreeKeepsStateAndCountdown(t *testing.T) {
	records := append(quoteRecords()[:4:4], started(dsl.KindCallHTTP, "/do/0/quote/try/0/askSupplier/do/0/"+strings.Repeat("aVeryLongName", 5), time.Minute))
	got := drawn(t, records, 40, 24)
	want := []string{
		"├─ ▶ quote",
		"│  └─ ▶ askSupplier             ⏱ 600ms",
		"│     └─ ▶ aVeryLongNameaVeryL… ⏱ 59.6s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, width := range []int{2, 5, 10, 20, 30} {
		drawn(t, records, width, 24)
		drawn(t, records, width, 3)
	}
}

func TestTreeOfManyBranchesShowsWhatEndsFirst(t *testing.T) {
	for _, n := range []int{1000, 5} {
		got := drawn(t, manyBranches(n), 60, 9)
		want := []string{
			"├─ ▶ all                  fork",
			"│  ├─ ▶ branch" + fmt.Sprint(n-2),
			"│  │  └─ ▶ nap", "│  ├─ ▶ branch" + fmt.Sprint(n-1), "│  │  └─ ▶ nap",
			fmt.Sprintf("│  └─ … %d more in progress", n-2),
		}
		if len(got) != len(want) {
			t.Fatalf("%d branches are drawn so:\n%s", n, strings.Join(got, "\n"))
		}
		for i := range want {
			if !strings.HasPrefix(got[i], strings.TrimSuffix(want[i], "                  fork")) {
				t.Errorf("%d branches: line %d is %q, want %q", n, i+1, got[i], want[i])
			}
		}
		if !strings.Contains(got[2], "⏱ 1m59.6s") && !strings.Contains(got[2], "⏱ 2m left") {
			t.Errorf("%d branches: line 3 is %q", n, got[2])
		}
	}
}

func TestDeepTreeShowsItsEnd(t *testing.T) {
	records := []interpreter.HistoryEvent{{At: quoteTime, Type: interpreter.WorkflowStarted}}
	at := ""
	for range 30 {
		at += "/do/0/deeper"
		records = append(records, started(dsl.KindDo, at, 0))
	}
	records = append(records, started(dsl.KindWait, at+"/do/0/nap", 5*time.Second))
	got := drawn(t, records, 40, 10)
	if last := got[len(got)-1]; got[0] != "…" || !strings.Contains(last, "▶ nap") || !strings.HasSuffix(last, "⏱ 4.6s") {
		t.Errorf("it is drawn so:\n%s", strings.Join(got, "\n"))
	}
}
