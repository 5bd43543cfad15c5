package timeline_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	swrunerrors "github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/timeline"
	"github.com/swrun/swrun/interpreter"
)

// TestSVG draws a run with a retry, a timeout and a name with special characters, and checks their drawing.
func TestSVG(t *testing.T) {
	begin := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	const task, try = dsl.Pointer("/do/0/pay/try/0/<charge>&"), dsl.Pointer("/do/0/pay")
	drawing := timeline.New("demo/one <b>")
	for _, r := range []interpreter.HistoryEvent{
		{At: at(0), Type: interpreter.WorkflowStarted, Deadlines: []interpreter.Deadline{{At: at(100)}}},
		{At: at(0), Type: interpreter.TaskStarted, Kind: dsl.KindTry, Pointer: try, Path: "p"},
		{At: at(0), Type: interpreter.TaskStarted, Kind: dsl.KindCallHTTP, Pointer: task, Path: "p/c", Until: at(2)},
		{At: at(0), Type: interpreter.EffectStarted, Kind: dsl.KindCallHTTP, Pointer: task, Path: "p/c", Attempt: 1},
		{At: at(2), Type: interpreter.TaskFaulted, Kind: dsl.KindCallHTTP, Pointer: task, Path: "p/c", Error: swrunerrors.Timeoutf("too slow")},
		{At: at(2), Type: interpreter.RetryScheduled, Kind: dsl.KindTry, Pointer: try, Path: "p", Until: at(5), Attempt: 2},
		{At: at(5), Type: interpreter.TaskStarted, Kind: dsl.KindCallHTTP, Pointer: task, Path: "p!2/c"},
		{At: at(5), Type: interpreter.TaskStarted, Kind: dsl.KindCallActivity, Pointer: "/do/1/act", Path: "a"},
		{At: at(5), Type: interpreter.EffectStarted, Kind: dsl.KindCallActivity, Pointer: "/do/1/act", Path: "a", Attempt: 1},
		{At: at(6), Type: interpreter.EffectRetried, Kind: dsl.KindCallActivity, Pointer: "/do/1/act", Path: "a", Attempt: 1, Until: at(8), Error: swrunerrors.Runtimef("first")},
		{At: at(9), Type: interpreter.TaskFaulted, Kind: dsl.KindCallActivity, Pointer: "/do/1/act", Path: "a", Error: swrunerrors.Runtimef("refused").With(interpreter.MemberNonRetryable, true)},
		{At: at(9), Type: interpreter.TaskStarted, Kind: dsl.KindRaise, Pointer: "/do/2/own", Path: "o"},
		{At: at(9), Type: interpreter.TaskFaulted, Kind: dsl.KindRaise, Pointer: "/do/2/own", Path: "o", Error: &swrunerrors.Error{Type: "https://example.com/e", Status: 400}},
		{At: at(9), Type: interpreter.WorkflowFaulted, Error: swrunerrors.Timeoutf("the workflow")},
	} {
		drawing.Add(r)
	}
	drawing.InForce([]interpreter.ActiveDeadline{
		{Deadline: interpreter.Deadline{At: at(100)}}, {Deadline: interpreter.Deadline{At: at(30)}, Pointer: try}, {Deadline: interpreter.Deadline{At: at(31)}, Pointer: "/do/9/none"},
	})
	if got := drawing.SVG(at(9), false); strings.Count(got, "deadline of the run: ") != 1 || strings.Contains(got, "10:00:31Z") {
		t.Errorf("deadlines in force are drawn as %s", got)
	}
	got := drawing.SVG(at(6), false)
	if _, err := io.Copy(io.Discard, strings.NewReader(got)); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
	}
	for _, part := range []string{
		"demo/one &lt;b&gt;", "&lt;charge&gt;&amp;", "/do/0/pay waits for the next attempt after 3s: attempt 2 comes next",
		"faulted after 2s: attempt 1 category timeout: timeout 408", "in progress after 4s", "deadline of the run: 2026-05-04T10:01:40Z", "deadline of /do/0/pay: 2026-05-04T10:00:30Z",
		"/do/1/act faulted after 1s: attempt 1 category runtime: runtime 500", "/do/1/act waits for the next attempt after 2s: attempt 2 comes next", "✖ runtime, non-retryable", "attempt 2 non-retryable, no other attempt is made, category runtime: runtime 500 Runtime Failure: refused", "demo/one &lt;b&gt; ✖ timeout<", "✖ application<", "category application: https://example.com/e", "deadline of /do/0/pay/try/0/&lt;charge&gt;&amp;: 2026-05-04T10:00:02Z",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
	if empty := timeline.New("").SVG(at(0), true); !strings.HasPrefix(empty, "<svg ") {
		t.Errorf("nothing is drawn as %s", empty)
	}
}
