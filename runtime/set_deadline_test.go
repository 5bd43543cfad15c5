package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// mustMove changes a deadline.
func (h *host) mustMove(i store.Instance, c client.DeadlineChange) client.MovedDeadline {
	h.Helper()
	moved, err := client.New(client.Config{Store: h.store, Compile: h.compile}).SetDeadline(client.WithActor(h.Context(), "ann"), i, c)
	if err != nil {
		h.Fatal(err)
	}
	return moved
}

// TestSetDeadline: a deadline of a run in progress moves, in both directions, and can be removed. The history contains the actor.
func TestSetDeadline(t *testing.T) {
	for name, c := range pacetest.ThinnedMap(map[string]struct {
		document string
		change   client.DeadlineChange
		after    time.Duration // when the run ends
		status   interpreter.Status
	}{
		"later":                      {"timeout: {after: PT10S}\ndo: [{a: {wait: PT1H}}]", client.DeadlineChange{By: time.Minute}, 70 * time.Second, interpreter.StatusFaulted},
		"earlier":                    {"timeout: {after: PT10M}\ndo: [{a: {wait: PT1H}}]", client.DeadlineChange{By: -9 * time.Minute}, time.Minute, interpreter.StatusFaulted},
		"none":                       {"timeout: {after: PT10S}\ndo: [{a: {wait: PT1H}}]", client.DeadlineChange{None: true}, time.Hour, interpreter.StatusCompleted},
		"from now if there was none": {"do: [{a: {wait: PT1H}}]", client.DeadlineChange{By: 8 * time.Second}, 10 * time.Second, interpreter.StatusFaulted},
		"of a task":                  {"do: [{a: {timeout: {after: PT10S}, wait: PT1H}}]", client.DeadlineChange{Task: "/do/0/a", By: 5 * time.Second}, 15 * time.Second, interpreter.StatusFaulted},
		"a task that had none":       {"do: [{a: {wait: PT1H}}]", client.DeadlineChange{Task: "/do/0/a", By: 5 * time.Second}, 7 * time.Second, interpreter.StatusFaulted},
		"a task around others":       {"do: [{b: {do: [{a: {wait: PT1H}}], timeout: {after: PT10S}}}]", client.DeadlineChange{Task: "/do/0/b", None: true}, time.Hour, interpreter.StatusCompleted},
		"of the run": {"do: [{a: {wait: PT1H}}]",
			client.DeadlineChange{Run: true, By: time.Second}, 11 * time.Second, interpreter.StatusFaulted},
	}, 3) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				defer h.work(worker.Config{})()
				var o client.StartOptions
				if c.change.Run {
					o.RunTimeout = 10 * time.Second
				}
				i := h.start(c.document, o)
				time.Sleep(2 * time.Second)
				c.change.Reason = "the bank is slow"
				h.mustMove(i, c.change)
				if o := h.wait(i); o.Status != c.status || took(o) != c.after {
					t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
				}
				if got := strings.Join(h.records(i), " "); !strings.Contains(got, "deadline-set") {
					t.Error(got)
				}
			})
		})
	}
}

// TestDeadlineMovesBeforeItPasses: a change that was accepted before the deadline counts, even if the next worker comes after it. An end
// before the deadline counts as well. After the deadline nothing moves it.
func TestDeadlineMovesBeforeItPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		stop := h.work(worker.Config{})
		i := h.start("timeout: {after: PT10S}\ndo: [{a: {wait: PT20S}}, {b: {wait: PT20S}}]", client.StartOptions{})
		late := h.start("timeout: {after: PT5S}\ndo: [{a: {wait: PT20S}}]", client.StartOptions{})
		time.Sleep(2 * time.Second)
		stop()
		time.Sleep(6 * time.Second)
		_, err := client.New(client.Config{Store: h.store, Compile: h.compile}).SetDeadline(t.Context(), late, client.DeadlineChange{By: time.Hour})
		if store.RefusedAs(err) != store.TimedOut {
			t.Errorf("a deadline that has passed: %v", err)
		}
		h.mustMove(i, client.DeadlineChange{By: time.Hour})
		time.Sleep(20 * time.Second) // the former deadline passes without a worker
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o) != 48*time.Second {
			t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
		}
		if o := h.wait(late); !o.TimedOut {
			t.Errorf("got %+v", o)
		}
	})
}

// TestRefusedDeadlines: an impossible change is refused, with the reason, and has no effect.
func TestRefusedDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start("timeout: {after: PT10S}\ndo: [{b: {timeout: {after: PT8S}, do: [{a: {timeout: {after: PT6S}, wait: PT1H}}]}}]", client.StartOptions{})
		delayed := h.start("do: [{a: {wait: PT1S}}]", client.StartOptions{Delay: time.Hour})
		over := h.start("do: [{a: {set: {n: 1}}}]", client.StartOptions{})
		time.Sleep(2 * time.Second)
		asked := client.New(client.Config{Store: h.store, Compile: h.compile})
		for _, c := range []struct {
			run    store.Instance
			change client.DeadlineChange
			why    string
		}{
			{i, client.DeadlineChange{Task: "/do/0/b/do/0/a", By: 3 * time.Second}, "the enclosing scope ends at"},
			{i, client.DeadlineChange{Task: "/do/0/b", By: time.Minute}, "the enclosing scope ends at"},
			{i, client.DeadlineChange{Run: true, By: time.Minute}, "the enclosing scope ends at"},
			{i, client.DeadlineChange{Run: true, None: true}, "has no such deadline"},
			{i, client.DeadlineChange{Task: "/do/1/c", By: time.Second}, "is not at the task /do/1/c; it is at /do/0/b/do/0/a"},
			{i, client.DeadlineChange{At: time.Now()}, "cannot end in the past"},
			{i, client.DeadlineChange{By: -time.Hour}, "cannot end in the past"},
			{i, client.DeadlineChange{At: time.Now().AddDate(9000, 0, 0)}, "after the year 9999"},
			{i, client.DeadlineChange{At: h.described(i, false).Deadlines[2].At}, "has this deadline already"},
			{i, client.DeadlineChange{}, "must be one of"},
			{i, client.DeadlineChange{None: true, By: 1}, "must be one of"},
			{i, client.DeadlineChange{None: true, Run: true, Task: "/do/0/b"}, "not about a task"},
			{delayed, client.DeadlineChange{By: time.Hour}, "has not begun"},
			{over, client.DeadlineChange{By: time.Hour}, "has ended"},
			{store.Instance{Namespace: "test", ID: "none"}, client.DeadlineChange{By: time.Hour}, "there is no run"},
		} {
			if _, err := asked.SetDeadline(t.Context(), c.run, c.change); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%+v: got %v, want %s", c.change, err, c.why)
			}
		}
		if o := h.wait(i); took(o) != 6*time.Second {
			t.Errorf("it has ended after %s", took(o))
		}
	})
}

// TestChildrenGetTheirParentsDeadline: when a parent gets more time, so has the child that it waits for.
func TestChildrenGetTheirParentsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("inner", "do: [{a: {wait: PT30S}}]")
		h.deploy("child", "do: [{r: {run: {workflow: {namespace: test, name: inner, version: latest}}}}]")
		i := h.start("timeout: {after: PT10S}\ndo: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		time.Sleep(2 * time.Second)
		h.mustMove(i, client.DeadlineChange{By: time.Minute})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o) != 30*time.Second {
			t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
		}
		j := h.start("timeout: {after: PT10S}\ndo: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		time.Sleep(2 * time.Second)
		if _, err := client.New(client.Config{Store: h.store, Compile: h.compile}).SetDeadline(t.Context(), h.child(j), client.DeadlineChange{By: time.Hour}); store.RefusedAs(err) != store.Conflict {
			t.Errorf("a child outlives its parent's deadline: %v", err)
		}
		h.mustMove(j, client.DeadlineChange{By: -5 * time.Second})
		if o := h.wait(j); !o.TimedOut || took(o) != 5*time.Second {
			t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
		}
	})
}

// TestDeadlineSyntax: the accepted formats of a deadline.
func TestDeadlineSyntax(t *testing.T) {
	for text, want := range map[string]client.DeadlineChange{
		"+10m": {By: 10 * time.Minute}, "-90s": {By: -90 * time.Second}, "+PT1H": {By: time.Hour}, "none": {None: true},
		"2026-12-24T18:00:00Z": {At: time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)},
	} {
		if got, err := client.ParseDeadline(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "+", "++1m", "+-1m", "10m", "+0s", "never", "2026-12-24", "+1x", "NONE", "+1m ", "0001-01-01T00:00:00Z"} {
		if got, err := client.ParseDeadline(text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
