package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestForkWithAnotherContext: a fork continues with another $context, also in a branch, which has its own $context.
func TestForkWithAnotherContext(t *testing.T) {
	const broken = "{raise: {error: {type: https://a.b/c, status: 400}}, if: '$context.n == null'}"
	for name, document := range map[string]string{
		"in a list":   "do: [{a: {set: {n: 1}}}, {b: " + broken + "}, {c: {set: {n: '${ $context.n }'}}}]",
		"in a branch": "do: [{f: {fork: {branches: [{w: {do: [{b: " + broken + "}, {c: {set: {n: '${ $context.n }'}}}]}}]}, output: {as: '${ .[0] }'}}}]",
		"a branch":    "do: [{f: {fork: {branches: [{b: " + broken + "}]}, export: {as: '${ $context }'}}}, {c: {set: {n: '${ $context.n }'}}}]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				defer h.work(worker.Config{})()
				i := h.start(document, client.StartOptions{})
				if o := h.wait(i); o.Status != interpreter.StatusFaulted {
					t.Fatalf("got %+v", o)
				}
				var edited any = map[string]any{"n": 7}
				forked := h.mustFork(i, client.ForkOptions{Context: &edited})
				if o := h.wait(forked.Instance); o.Status != interpreter.StatusCompleted || name != "a branch" && cmp.Diff(map[string]any{"n": 7}, o.Output) != "" {
					t.Errorf("got %+v", o)
				}
			})
		})
	}
}

// TestMaximumOfForks: no fork, and no deadline that is set, gives a run more time than the maximum of its namespace.
func TestMaximumOfForks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		const document = "timeout: {after: PT2H}\ndo: [{a: {wait: PT1S}}, {b: {raise: {error: {type: https://a.b/c, status: 400}}, if: '$context.w == null'}}, {c: {wait: P1D}}]"
		failed := h.start(document, client.StartOptions{})
		h.wait(failed)
		h.set("", "maxExecutionTimeout=1h", "maxRunTimeout=50m")
		for why, o := range map[string]client.ForkOptions{
			"executionTimeout: 2h is more than the maximum of 1h": {ExecutionTimeout: 2 * time.Hour},
			"deadline: 2h from now is more than the maximum":      {Deadline: time.Now().Add(2 * time.Hour)},
		} {
			if _, err := h.asker().Fork(t.Context(), failed, o); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%+v: %v", o, err)
			}
		}
		var goesOn any = map[string]any{"w": 1}
		for _, o := range []client.ForkOptions{{NoDeadline: true}, {}, {ExecutionTimeout: 55 * time.Minute}, {From: "/do/0/a"}} {
			o.Context, o.Again = &goesOn, true
			if o := h.wait(h.mustFork(failed, o).Instance); !o.TimedOut || took(o) > time.Hour || took(o) < 49*time.Minute {
				t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
			}
		}
		h.set("", "maxExecutionTimeout=10h")
		live := h.start("timeout: {after: PT30M}\ndo: [{a: {wait: P1D}}]", client.StartOptions{})
		time.Sleep(time.Second)
		for why, c := range map[string]client.DeadlineChange{
			"must have a deadline: a maximum of 10h": {None: true},
			"cannot have a deadline after":           {By: 10 * time.Hour},
		} {
			if _, err := h.asker().SetDeadline(t.Context(), live, c); store.RefusedAs(err) != store.Conflict || !strings.Contains(err.Error(), why) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		h.mustMove(live, client.DeadlineChange{By: 10 * time.Minute})
	})
}

// TestForkAfterItsDeadline: a run with a passed deadline has no time left. A fork of it gets another deadline, or none.
func TestForkAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: {wait: PT1H}}]", client.StartOptions{Deadline: time.Now().Add(time.Minute)})
		if o := h.wait(i); !o.TimedOut {
			t.Fatalf("got %+v", o)
		}
		_, err := h.asker().Fork(t.Context(), i, client.ForkOptions{})
		if store.RefusedAs(err) != store.Conflict || !strings.Contains(err.Error(), "had a deadline at 2000-01-01 00:01:00Z, which has passed: give the fork another one, or none") {
			t.Errorf("got %v", err)
		}
		for _, c := range []struct {
			options client.ForkOptions
			after   time.Duration
		}{
			{client.ForkOptions{NoDeadline: true}, 0}, {client.ForkOptions{ExecutionTimeout: 2 * time.Minute}, 2 * time.Minute}, {client.ForkOptions{Deadline: time.Now().Add(3 * time.Hour)}, 0},
		} {
			c.options.Again = true
			if o := h.wait(h.mustFork(i, c.options).Instance); o.TimedOut != (c.after > 0) || o.TimedOut && took(o) != c.after {
				t.Errorf("%+v: got %s after %s: %v", c.options, o.Status, took(o), o.Fault)
			}
		}
	})
}
