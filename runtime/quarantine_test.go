package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// poisonous makes the performer of h kill the owner of whatever is called bad, and counts how often it has.
func (h *host) poisonous() *atomic.Int64 {
	var killed atomic.Int64
	h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
		if strings.Contains(string(r.Path), "bad") {
			killed.Add(1)
			panic("poison")
		}
		return "done", nil
	}
	return &killed
}

// TestQuarantineStopsWorkNotTime is promise 182: a deadline that ends a run ends it also in quarantine, in its time, and
// without the work that killed its owners.
func TestQuarantineStopsWorkNotTime(t *testing.T) {
	for name, c := range pacetest.ThinnedMap(map[string]struct {
		document string
		options  client.StartOptions
		kind     string
	}{
		"the workflow's, at its first step":    {"timeout: {after: PT1H}\ndo: [{bad: " + task + "}]", client.StartOptions{}, "workflow"},
		"the workflow's, later":                {"timeout: {after: PT1H}\ndo: [{w: {wait: PT1M}}, {bad: " + task + "}]", client.StartOptions{}, "workflow"},
		"the workflow's, as an expression":     {"timeout: {after: '${ \"PT1H\" }'}\ndo: [{bad: " + task + "}]", client.StartOptions{}, "workflow"},
		"the execution's":                      {"do: [{bad: " + task + "}]", client.StartOptions{ExecutionTimeout: time.Hour}, "execution"},
		"the run's":                            {"do: [{bad: " + task + "}]", client.StartOptions{RunTimeout: time.Hour}, "run"},
		"a fixed one":                          {"do: [{bad: " + task + "}]", client.StartOptions{Deadline: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}, "execution"},
		"a task's that nothing can catch":      {"do: [{bad: {run: {shell: {command: x}}, timeout: {after: PT1H}}}]", client.StartOptions{}, "task"},
		"a task's that a filter misses":        {"do: [{t: {try: [{bad: {run: {shell: {command: x}}, timeout: {after: PT1H}}}], catch: {errors: {with: {status: 500}}}}}]", client.StartOptions{}, "task"},
		"the workflow's, not one that is less": {"timeout: {after: PT1H}\ndo: [{t: {try: [{bad: {run: {shell: {command: x}}, timeout: {after: PT30M}}}], catch: {do: [{b: " + task + "}]}}}]", client.StartOptions{}, "workflow"},
		"the limit of all attempts":            {"do: [{t: {try: [{bad: " + task + "}], catch: {retry: {limit: {duration: PT1H}}}}}]", client.StartOptions{}, "retry"},
	}, 3) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				killed := h.poisonous()
				defer h.work(worker.Config{})()
				i := h.start(c.document, c.options)
				time.Sleep(20 * time.Minute)
				if r := h.record(i); r.Reason != store.Quarantined || r.Held() || !r.Ready.IsZero() {
					t.Fatalf("the record is %+v", r)
				}
				kills := killed.Load()
				time.Sleep(41 * time.Minute)
				o := h.wait(i)
				if o.Fault == nil || o.Fault.Extensions["timeoutKind"] != c.kind || !o.TimedOut || o.EndedAt.Sub(o.StartedAt) > time.Hour+2*time.Second {
					t.Errorf("got %+v after %s", o, o.EndedAt.Sub(o.StartedAt))
				}
				if r := h.record(i); r.Reason != "timed_out" || killed.Load() != kills || kills > store.DefaultMaxDeaths {
					t.Errorf("%d owners were killed, %d before; closed as %s", killed.Load(), kills, r.Reason)
				}
			})
		})
	}
}

// TestRecoveryAttempts is promise 184: how many workers a run may lose before it is quarantined is a setting of the workers.
func TestRecoveryAttempts(t *testing.T) {
	for attempts, want := range map[int]int64{0: store.DefaultMaxDeaths, 1: 1, 2: 2, 8: 8} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				killed := h.poisonous()
				defer h.work(worker.Config{RecoveryAttempts: attempts})()
				i := h.start("do: [{bad: "+task+"}]", client.StartOptions{})
				time.Sleep(2 * time.Hour)
				if r := h.record(i); r.Reason != store.Quarantined || killed.Load() != want {
					t.Errorf("%d owners were killed, want %d: %+v", killed.Load(), want, r)
				}
			})
		})
	}
}

// TestQuarantineDecidesNoWork: a deadline that a try may take leads to work, so it is decided when the run is released:
// then before anything else.
func TestQuarantineDecidesNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		killed := h.poisonous()
		defer h.work(worker.Config{})()
		i := h.start("do: [{t: {try: [{bad: {run: {shell: {command: x}}, timeout: {after: PT30M}}}], catch: {do: [{b: {set: {late: true}}}]}}}]", client.StartOptions{})
		time.Sleep(2 * time.Hour)
		kills := killed.Load()
		if r := h.record(i); r.Reason != store.Quarantined || r.Version > 20 {
			t.Errorf("the record is %+v", r)
		}
		if _, err := h.client.Retry(client.WithActor(t.Context(), "ada"), i, client.RetryOptions{Reason: "it has more memory now"}); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || killed.Load() != kills {
			t.Errorf("got %+v; %d owners were killed, %d before", o, killed.Load(), kills)
		}
		released := 0
		if _, err := h.client.History(t.Context(), i, 0, func(e client.HistoryEntry) error {
			for _, r := range e.Events {
				if r.Type == interpreter.WorkflowReleased && r.Actor == "ada" && r.Data == "it has more memory now" {
					released++
				}
			}
			return nil
		}); err != nil || released != 1 {
			t.Errorf("the release stands %d times in the history (%v)", released, err)
		}
	})
}

// TestQuarantinedParentEndsItsChild, and answers its own parent.
func TestQuarantinedParentEndsItsChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.poisonous()
		h.deploy("slow", "do: [{w: {wait: P1D}}]")
		h.deploy("poisoned", "timeout: {after: PT1H}\ndo: [{f: {fork: {branches: [{c: {run: {workflow: {namespace: test, name: slow, version: latest}}}}, {bad: "+task+"}]}}}]")
		defer h.work(worker.Config{})()
		i := h.start("do: [{t: {try: [{r: {run: {workflow: {namespace: test, name: poisoned, version: latest}}}}], catch: {errors: {with: {status: 408}}, do: [{late: {set: {late: true}}}]}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o) > time.Hour+3*time.Second {
			t.Errorf("got %+v after %s", o, took(o))
		}
		time.Sleep(time.Minute)
		if r := h.record(h.child(i)); !r.Status.Final() { // the newest is the child's
			t.Errorf("its child is %+v", r)
		}
	})
}

// TestQuarantineIsDescribed: of the deadlines in force it is described which fire, and which wait for the release.
func TestQuarantineIsDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.poisonous()
		defer h.work(worker.Config{})()
		i := h.start("timeout: {after: PT2H}\ndo: [{t: {try: [{bad: {run: {shell: {command: x}}, timeout: {after: PT1H}}}], catch: {}}}]", client.StartOptions{})
		time.Sleep(90 * time.Minute)
		var stuck *client.QuarantinedError
		if _, _, err := h.client.Outcome(t.Context(), i); !errors.As(err, &stuck) || time.Until(stuck.Ends).Round(time.Minute) != 30*time.Minute {
			t.Errorf("the error is %v", err)
		}
		defer func() { // the waiting caller gets its end
			if o, err := h.client.Wait(t.Context(), i); err != nil || !o.TimedOut {
				t.Errorf("got %+v: %v", o, err)
			}
		}()
		d, err := h.client.Describe(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Deadlines) != 2 || !d.Deadlines[0].AwaitsRelease || d.Deadlines[1].AwaitsRelease {
			t.Errorf("the deadlines are %+v", d.Deadlines)
		}
		if !strings.Contains(d.Why, "Its deadlines still apply.") || !strings.Contains(d.Then, "2000-01-01 02:00:00Z") || !strings.Contains(d.Then, "it faults") {
			t.Errorf("it says %q and %q", d.Why, d.Then)
		}
		var all []store.Instance
		if err := h.client.Upcoming(t.Context(), time.Now().Add(time.Hour), func(i store.Instance) error {
			all = append(all, i)
			return nil
		}); err != nil || len(all) != 1 {
			t.Errorf("upcoming are %v: %v", all, err)
		}
	})
}

// TestQuarantinedIsNotWaitedFor: callers do not wait for a quarantined run without a deadline.
func TestQuarantinedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(context.Context, interpreter.Request) (any, error) { panic("it breaks") }
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		if _, err := h.client.Wait(t.Context(), i); !errors.As(err, new(*client.QuarantinedError)) {
			t.Errorf("waiting ends with %v", err)
		}
		if err := h.client.Follow(t.Context(), i, 0, func(client.HistoryEntry) error { return nil }); !errors.As(err, new(*client.QuarantinedError)) {
			t.Errorf("following ends with %v", err)
		}
	})
}

// TestLostWorkersAreInTheHistory: the history of a run contains the workers that were lost with it, and its quarantine (promise 227). Later
// events have consecutive numbers, and the history reproduces the stored state.
func TestLostWorkersAreInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.poisonous()
		defer h.work(worker.Config{})()
		i := h.start("do: [{w: {wait: PT1M}}, {bad: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Hour)
		lost, quarantined := 0, 0
		look := func(e client.HistoryEntry) error {
			for _, r := range e.Events {
				switch r.Type {
				case interpreter.WorkflowWorkerLost:
					if lost++; r.Worker == "" || r.Attempt != lost {
						t.Errorf("event %d names the worker %q, and counts %d", r.Seq, r.Worker, r.Attempt)
					}
				case interpreter.WorkflowQuarantined:
					quarantined++
				}
			}
			return nil
		}
		if _, err := h.client.History(t.Context(), i, 0, look); err != nil || lost != store.DefaultMaxDeaths || quarantined != 1 {
			t.Errorf("%d workers were lost, and the run was quarantined %d times: %v", lost, quarantined, err)
		}
		h.perform = effortless // until the run ends, the state contains the number of the attempt in flight, which is not in the history
		_, err := h.client.Retry(t.Context(), i, client.RetryOptions{})
		h.must(err)
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		h.verifyReplay(i)
	})
}
