package runtime_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

// TestContinueAsNew is promises 3, 4, 15 and 72: the next run keeps the id, the options and the deadline of the execution, and has
// a run deadline of its own.
func TestContinueAsNew(t *testing.T) {
	const document = `do: [{a: {wait: PT6S}}, {b: {call: "continue-as-new:1.0.0@default", with: {input: "${ {labels: $runtime.metadata.labels, run: $runtime.metadata.runNumber} }"}}}]`
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.start(document, client.StartOptions{ID: "e", Labels: map[string]string{"tenant": "acme"}, ExecutionTimeout: 20 * time.Second, RunTimeout: 10 * time.Second})
		time.Sleep(8 * time.Second)
		stop()
		defer h.work(worker.Config{})()
		time.Sleep(time.Second)
		d := h.described(i, false)
		if got := d.State.Input.(map[string]any); d.State.RunNumber() != 2 || got["labels"].(map[string]any)["tenant"] != "acme" || d.Invocation.Labels["tenant"] != "acme" {
			t.Errorf("run %d has the input %v", d.State.RunNumber(), got)
		}
		for _, in := range d.Deadlines {
			want := map[string]time.Duration{interpreter.DeadlineExecution: 20 * time.Second, interpreter.DeadlineRun: 16 * time.Second}[in.Kind]
			if in.Pointer == "" && in.At.Sub(d.State.StartedAt) != want {
				t.Errorf("the deadline of the %s is at %s", in.Kind, in.At.Sub(d.State.StartedAt))
			}
		}
		if o := h.wait(i); !o.TimedOut || took(o) != 20*time.Second || o.Fault.Extensions["timeoutKind"] != "execution" {
			t.Errorf("got %+v after %s", o, took(o))
		}
		if got := strings.Count(strings.Join(h.records(i), " "), "workflow.continued"); got != 3 {
			t.Errorf("it has continued %d times", got)
		}
	})
}

// TestRunDeadlineOfTheNextRun: it ends the execution when one of its runs takes too long.
func TestRunDeadlineOfTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start(`do: [{a: {wait: "${ \"PT\\($runtime.metadata.runNumber * 3)S\" }"}}, {b: {call: "continue-as-new:1.0.0@default"}}]`, client.StartOptions{RunTimeout: 8 * time.Second})
		if o := h.wait(i); !o.TimedOut || took(o) != 17*time.Second || o.Fault.Extensions["timeoutKind"] != "run" {
			t.Errorf("got %+v after %s", o, took(o))
		}
	})
}

// TestLongHistoryRollsOver is promises 15 and 189: a run that goes on for long continues as a new one where it stands; what is in flight
// goes on, and nothing is started again.
func TestLongHistoryRollsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var keys []string
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			keys = append(keys, r.Key)
			time.Sleep(time.Second)
			return map[string]any{}, nil
		}
		defer h.work(worker.Config{Limits: limits.Set{limits.History: 100}})()
		i := h.start("do: [{l: {for: {in: '[range(200)]'}, do: [{a: "+task+"}, {b: {set: {n: 1}}}]}}]", client.StartOptions{RunTimeout: 50 * time.Second})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o) != 200*time.Second {
			t.Errorf("got %+v after %s", o, took(o))
		}
		slices.Sort(keys)
		if n := len(slices.Compact(keys)); n != 200 {
			t.Errorf("%d different effects were performed", n)
		}
		d := h.described(i, false)
		if n := d.State.RunNumber(); n < 5 || d.Lifecycle.Records != int64(len(h.records(i))) {
			t.Errorf("it has had %d runs", n)
		}
	})
}
