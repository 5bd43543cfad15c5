package runtime_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestContinueAsNew is promises 3, 4, 15 and 72: the next run keeps the id, the options and the deadline of the execution, and has
// a run deadline of its own.
func TestContinueAsNew(t *testing.T) {
	const document = `do: [{a: {wait: PT6S}}, {b: {call: "continue-as-new:1.0.0@default", with: {input: "${ {labels: $runtime.metadata.labels, key: $runtime.metadata.businessKey, run: $runtime.metadata.runNumber} }"}}}]`
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.start(document, client.StartOptions{ID: "e", BusinessKey: "order 7", Labels: map[string]string{"tenant": "acme"}, ExecutionTimeout: 20 * time.Second, RunTimeout: 10 * time.Second})
		time.Sleep(8 * time.Second)
		stop()
		defer h.work(worker.Config{})()
		time.Sleep(time.Second)
		d := h.described(i, false)
		if got := d.State.Input.(map[string]any); d.State.RunNumber() != 2 || got["labels"].(map[string]any)["tenant"] != "acme" || got["key"] != "order 7" || d.Invocation.BusinessKey != "order 7" || d.Invocation.Labels["tenant"] != "acme" {
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

// TestLongHistoryRollsOver is promises 15 and 189: a long run continues as a new run at the same position. Effects in flight continue, and
// nothing is started again.
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
		_, err := h.client.History(t.Context(), i, 0, func(e client.HistoryEntry) error {
			for _, r := range e.Events {
				if r.Type == interpreter.WorkflowContinued && (len(r.Deadlines) != 1 || !r.Deadlines[0].At.Equal(e.At.Add(50*time.Second))) {
					t.Errorf("at %s the next run began with the deadlines %v", e.At, r.Deadlines)
				}
			}
			return nil
		})
		h.must(err)
	})
}

// TestRunsOfALongHistory: each run of an execution that was rolled over is described separately, with the deadlines at its end, including
// the deadlines of tasks in progress (promises 222).
func TestRunsOfALongHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			time.Sleep(time.Second)
			return map[string]any{}, nil
		}
		defer h.work(worker.Config{Limits: limits.Set{limits.History: 60}})()
		i := h.start("do: [{l: {timeout: {after: PT10M}, for: {in: '[range(60)]'}, do: [{a: "+task+"}, {b: {set: {n: 1}}}]}}]", client.StartOptions{RunTimeout: 50 * time.Second})
		h.wait(i)
		latest := h.described(i, false)
		began := latest.State.StartedAt
		for n := 1; n < latest.Runs.Latest; n++ {
			d, err := h.client.DescribeRun(t.Context(), i, n)
			h.must(err)
			if d.State.RunNumber() != n || d.Status != client.Continued || !d.Lifecycle.Started.Equal(began) || !d.Earlier.Ended.After(began) || !strings.Contains(d.Why, "had become long") {
				t.Errorf("the run %d is described as %+v: %s", n, d.Lifecycle, d.Why)
			}
			var kinds []string
			for _, in := range d.Deadlines {
				kinds = append(kinds, in.Kind+" "+string(in.Pointer))
			}
			if got := strings.Join(kinds, ", "); got != "run , task /do/0/l" || !d.Deadlines[0].At.Equal(began.Add(50*time.Second)) {
				t.Errorf("the run %d had the deadlines %s", n, got)
			}
			began = d.Earlier.Ended
		}
		if latest.Runs.Latest < 3 {
			t.Errorf("it has had %d runs", latest.Runs.Latest)
		}
		_, err := h.client.DescribeRun(t.Context(), i, latest.Runs.Latest+1)
		if store.RefusedAs(err) != store.NoSuch {
			t.Errorf("a run that is not there: %v", err)
		}
	})
}

// TestContinueAsAnotherVersion: the next run has the definition of another version, and all views of the run show it.
func TestContinueAsAnotherVersion(t *testing.T) {
	for _, version := range []string{"2.0.0", "latest"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			stop := h.work(worker.Config{})
			i := h.begin("do: [{a: {wait: PT2S}}, {b: {call: 'continue-as-new:1.0.0@default', with: {version: "+version+", input: {n: 1}}}}]", client.StartOptions{ExecutionTimeout: time.Minute})
			h.version("2.0.0", "do: [{c: {wait: PT20S}}, {d: {set: {n: '${ .n + 1 }', v: '${ $workflow.definition.document.version }'}}}]")
			time.Sleep(3 * time.Second)
			d := h.described(i, false)
			if d.Invocation.Workflow.Version != "2.0.0" || d.Invocation.First().Workflow.Version != "1.0.0" || d.State.RunNumber() != 2 {
				t.Errorf("run %d is one of %v, and began as one of %v", d.State.RunNumber(), d.Invocation.Workflow, d.Invocation.First())
			}
			h.verifyReplay(i)
			stop() // the rest is restored from the stored state
			defer h.work(worker.Config{})()
			if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o) != 22*time.Second || o.Output.(map[string]any)["v"] != "2.0.0" {
				t.Errorf("got %+v after %s", o, took(o))
			}
			h.verifyReplay(i)
			old, err := h.asker().Fork(t.Context(), i, client.ForkOptions{ID: "old", From: "/do/0/a", Version: "1.0.0"})
			if err != nil {
				t.Fatal(err)
			}
			if o := h.wait(old.Instance); o.Status != interpreter.StatusCompleted || took(o) != 22*time.Second {
				t.Errorf("a fork from the first run: %+v after %s", o, took(o))
			}
		})
	}
}

// TestContinueAsAVersionThatCannotBe: the task fails, and the run continues with its definition.
func TestContinueAsAVersionThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.begin("do: [{t: {try: [{b: {call: 'continue-as-new:1.0.0@default', with: {version: 3.0.0}}}], catch: {as: e, do: [{c: {set: {why: '${ $e.detail }'}}}]}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || o.Output.(map[string]any)["why"] != "the workflow test/a:3.0.0 is not deployed here" {
			t.Errorf("got %+v", o)
		}
		stop()
		h.verifyReplay(i)
	})
}

// TestContinueAsAnotherVersionInTime: a run whose deadline passes before a worker finds the definition ends at its deadline.
func TestContinueAsAnotherVersionInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.begin("do: [{w: {wait: PT1S}}, {t: {try: [{b: {timeout: {after: PT1S}, call: 'continue-as-new:1.0.0@default', with: {version: latest}}}], catch: {do: [{c: {set: {late: true}}}]}}}]", client.StartOptions{})
		h.version("2.0.0", "do: [{d: {set: {late: false}}}]")
		w := &undeliverable{Store: h.store}
		broken := *h
		broken.store = w
		stop := broken.work(worker.Config{})
		time.Sleep(3 * time.Second)
		stop()
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || o.Output.(map[string]any)["late"] != true {
			t.Errorf("got %+v", o)
		}
		h.verifyReplay(i)
	})
}

// undeliverable is a store that delivers nothing.
type undeliverable struct{ store.Store }

func (*undeliverable) Deliver(context.Context, store.Delivery) error { return errors.New("no answer") }
