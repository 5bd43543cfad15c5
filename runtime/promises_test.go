package runtime_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// hanging is a performer that lasts until it is cancelled.
func hanging(ctx context.Context, _ interpreter.Request) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// effortless is a performer that takes no time.
func effortless(context.Context, interpreter.Request) (any, error) { return "done", nil }

const task = "{run: {shell: {command: x}}}"

func (h *host) record(i store.Instance) store.Lifecycle {
	h.Helper()
	l, err := h.store.Load(h.Context(), i)
	if err != nil {
		h.Fatal(err)
	}
	return l.Lifecycle
}

func (h *host) records(i store.Instance) (types []string) {
	h.Helper()
	if _, err := h.client.History(h.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			types = append(types, strings.TrimSpace(string(r.Type)+" "+string(r.Path)))
		}
		return nil
	}); err != nil {
		h.Fatal(err)
	}
	return types
}

func took(o execution.Outcome) time.Duration {
	return o.EndedAt.Sub(o.StartedAt).Round(100 * time.Millisecond)
}

// TestStartTimeouts are promises 1 to 5, 16, 21, 22 and 203: each timeout ends the run, and says which it was.
func TestStartTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
		kind     string
		after    time.Duration
	}{
		"the document's":             {"timeout: {after: PT3S}\n", client.StartOptions{}, "workflow", 3 * time.Second},
		"of the execution":           {"", client.StartOptions{ExecutionTimeout: 2 * time.Second}, "execution", 2 * time.Second},
		"it replaces the document's": {"timeout: {after: PT1S}\n", client.StartOptions{ExecutionTimeout: 2 * time.Second}, "execution", 2 * time.Second},
		"of the run":                 {"timeout: {after: PT9S}\n", client.StartOptions{RunTimeout: 4 * time.Second}, "run", 4 * time.Second},
		"the first of both fires":    {"", client.StartOptions{ExecutionTimeout: 5 * time.Second, RunTimeout: 2 * time.Second}, "run", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = hanging
				defer h.work(worker.Config{})()
				i := h.start(c.document+"do: [{a: "+task+"}]", c.options)
				o := h.wait(i)
				if o.Status != interpreter.StatusFaulted || took(o) != c.after || o.Fault.Extensions["timeoutKind"] != c.kind {
					t.Errorf("got %+v after %s", o, took(o))
				}
				if r := h.record(i); r.Reason != "timed_out" {
					t.Errorf("closed as %s", r.Reason)
				}
			})
		})
	}
}

// TestQueuedStartIsFree: waiting in line does not use up the timeout, unless it was asked for (promises 172).
func TestQueuedStartIsFree(t *testing.T) {
	for accepted, want := range map[bool]time.Duration{false: 5 * time.Second, true: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			h.perform = hanging
			i := h.start("do: [{a: "+task+"}]", client.StartOptions{ExecutionTimeout: 5 * time.Second, Accepted: accepted})
			time.Sleep(4 * time.Second)
			defer h.work(worker.Config{})()
			if o := h.wait(i); took(o) != want {
				t.Errorf("accepted %v: it ended after %s", accepted, took(o))
			}
		})
	}
}

// TestDelay: a delayed run starts in time, and one whose deadline passes before never starts (promises 173, 182).
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		defer h.work(worker.Config{})()
		began := time.Now()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: time.Hour})
		never := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: time.Hour, Deadline: began.Add(time.Minute)})
		if o := h.wait(never); o.Status != interpreter.StatusFaulted || time.Since(began) > 61*time.Second {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
		for _, r := range h.records(never) {
			if strings.HasPrefix(r, "task.") {
				t.Errorf("a task ran: %s", r)
			}
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began).Round(time.Second) != time.Hour {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
	})
}

// TestOptionsAreChecked: promises 8 and 9.
func TestOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]client.StartOptions{
		"executionTimeout": {ExecutionTimeout: 999 * time.Millisecond},
		"runTimeout":       {RunTimeout: -time.Second},
		"delay":            {Delay: -time.Second},
		"onDuplicate":      {OnDuplicate: "maybe"},
	} {
		var option *client.OptionError
		if err := o.Check(); !errors.As(err, &option) || option.Field != field {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

// TestDuplicates: promises 6.
func TestDuplicates(t *testing.T) {
	h := newHost(t)
	first := h.start("do: [{a: {wait: PT1S}}]", client.StartOptions{ID: "a"})
	deployed := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\ndo: [{a: {wait: PT1S}}]"}
	for _, c := range []struct {
		input any
		on    string
		want  store.Code
	}{
		{nil, "", ""}, {nil, client.OnDuplicateReject, store.Conflict}, {nil, client.OnDuplicateReturnExisting, ""},
		{1, "", store.Conflict}, {1, client.OnDuplicateReject, store.Conflict}, {1, client.OnDuplicateReturnExisting, ""},
	} {
		i, err := h.client.StartDefinition(t.Context(), deployed, c.input, client.StartOptions{ID: "a", OnDuplicate: c.on})
		if store.RefusedAs(err) != c.want || i != first {
			t.Errorf("%+v: got %s, %v", c, i, err)
		}
	}
}

// TestSuspend is semantics 16.2: no task starts, what runs goes on, deadlines hold.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			performed.Add(1)
			time.Sleep(10 * time.Second)
			return "done", nil
		}
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: "+task+"}, {b: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		if err := h.client.Suspend(t.Context(), i, "lunch"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if r := h.record(i); performed.Load() != 1 || r.Status != interpreter.StatusSuspended || r.Held() {
			t.Errorf("%d effects were performed; the record is %+v", performed.Load(), r)
		}
		if err := h.client.Resume(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 2 {
			t.Errorf("got %+v", o)
		}
		timed := h.start("timeout: {after: PT1M}\ndo: [{a: {wait: PT10M}}]", client.StartOptions{})
		time.Sleep(time.Second)
		if err := h.client.Suspend(t.Context(), timed, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(timed); o.Status != interpreter.StatusFaulted || took(o) != time.Minute {
			t.Errorf("suspended, it ended as %+v after %s", o, took(o))
		}
	})
}

// TestParentClose is promises 23 and 24.
func TestParentClose(t *testing.T) {
	for policy, want := range map[string]string{"cancel": "cancelled", "terminate": "terminated", "abandon": "completed"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			defer h.work(worker.Config{})()
			h.deploy("child", "do: [{a: {wait: PT1M}}]")
			i := h.start("do: [{f: {fork: {compete: true, branches: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}, metadata: {swrun: {parentClose: "+policy+"}}}}, {w: {wait: PT5S}}]}}}]", client.StartOptions{})
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Fatalf("got %+v", o)
			}
			child := h.child(i)
			h.wait(child)
			if r := h.record(child); r.Reason != want {
				t.Errorf("%s: the child is closed as %s", policy, r.Reason)
			}
		})
	}
}

// child returns the only child of i.
func (h *host) child(i store.Instance) (child store.Instance) {
	h.Helper()
	if err := h.client.List(h.Context(), client.Filter{Prefix: i.ID + "."}, func(f client.Found) bool {
		child = f.Instance
		return false
	}); err != nil || child.ID == "" {
		h.Fatalf("no child: %v", err)
	}
	return child
}

// TestTimedOutChildTellsItsParent: promises 24 and 220.
func TestTimedOutChildTellsItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("child", "timeout: {after: PT3S}\ndo: [{a: {wait: PT1M}}]")
		i := h.start("do: [{t: {try: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}}}], catch: {errors: {with: {status: 408}}, do: [{late: {set: {late: true}}}]}}}]", client.StartOptions{})
		o := h.wait(i)
		if got, _ := o.Output.(map[string]any); got["late"] != true {
			t.Errorf("got %+v", o)
		}
	})
}

// TestAtMostOnce: an effect that must not be repeated is not, and its outcome is told as unknown.
func TestAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			performed.Add(1)
			return hanging(ctx, interpreter.Request{})
		}
		first := h.work(worker.Config{Drain: time.Millisecond})
		i := h.start("do: [{t: {try: [{a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}], catch: {as: e, do: [{b: {set: '${ $e.outcome }'}}]}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		first() // the effect is given up, and nobody knows what came of it
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Output != "unknown" || performed.Load() != 1 {
			t.Errorf("got %+v after %d calls", o, performed.Load())
		}
	})
}

// TestDrainHandsOver: a worker that stops gives back what it holds, and another goes on at once, with the next attempt.
func TestDrainHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		attempts := make(chan int, 10)
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			attempts <- r.Attempt
			if r.Attempt == 1 {
				return hanging(ctx, r)
			}
			return "done", nil
		}
		first := h.work(worker.Config{Drain: 2 * time.Second})
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		began := time.Now()
		first()
		if handed := time.Since(began); handed > 2100*time.Millisecond {
			t.Errorf("it took %s to hand over", handed)
		}
		defer h.work(worker.Config{})()
		o := h.wait(i)
		if o.Status != interpreter.StatusCompleted || time.Since(began) > 4*time.Second || <-attempts != 1 || <-attempts != 2 {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
		if r := h.record(i); r.Deaths != 0 {
			t.Errorf("handing over counts as %d deaths", r.Deaths)
		}
	})
}

// TestRetention removes what has ended long enough ago.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{Retention: time.Hour})()
		i := h.start("do: [{a: {set: {x: 1}}}]", client.StartOptions{})
		h.wait(i)
		time.Sleep(59 * time.Minute)
		h.record(i)
		time.Sleep(2 * time.Minute)
		if _, err := h.store.Load(t.Context(), i); store.RefusedAs(err) != store.NoSuch {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// TestManyWorkers share a store, and each run is run once.
func TestManyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			performed.Add(1)
			time.Sleep(time.Second)
			return "done", nil
		}
		for range 4 {
			defer h.work(worker.Config{Concurrency: 10})()
		}
		var all []store.Instance
		for range 100 {
			all = append(all, h.start("do: [{a: "+task+"}, {b: "+task+"}]", client.StartOptions{}))
		}
		for _, i := range all {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Errorf("got %+v", o)
			}
		}
		if performed.Load() != 200 {
			t.Errorf("%d effects were performed", performed.Load())
		}
	})
}

// TestHistoryIsBounded: a loop that nothing ends comes to an end, which the workflow cannot catch (promises 49).
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{Limits: limits.Set{limits.History: 5000}})()
		i := h.start("do: [{t: {try: [{a: {set: {x: 1}}}], catch: {}, then: t}}]", client.StartOptions{})
		o := h.wait(i)
		if o.Fault == nil || o.Fault.Type != errors.Limit || o.Fault.Extensions["limit"] != "history" {
			t.Errorf("got %+v", o)
		}
		if r := h.record(i); r.Records < 5000 || r.Records > 10_000 {
			t.Errorf("there are %d records", r.Records)
		}
	})
}

// TestResultIsSteppedAgain: a commit is refused because of the time, and what happened is stepped again, from what is stored: the
// result of an effect that must not be repeated is not forgotten.
func TestResultIsSteppedAgain(t *testing.T) {
	h := newHost(t)
	i := h.start("do: [{a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]", client.StartOptions{})
	claim := func() store.Claimed {
		claimed, err := h.store.Claim(t.Context(), store.Claim{
			Partition: i.Partition(2), Instances: []store.Instance{i}, Nonce: "n", Lease: time.Hour,
		})
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		return claimed[0]
	}
	c := claim()
	s, err := execution.New(execution.Config{Clock: func() time.Time { return c.At }, CheckpointAfter: time.Second}, c)
	if err != nil {
		t.Fatal(err)
	}
	s.SlotFree()
	if err := s.Loaded(h.program("do: [{a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]")); err != nil {
		t.Fatal(err)
	}
	if len(s.Actions().Perform) > 0 || s.Actions().Commit == nil {
		t.Fatal("the effect begins before it is stored")
	}
	done, err := h.store.Commit(t.Context(), *s.Actions().Commit)
	s.Committed(done, err)
	s.Finished(interpreter.Finished{Effect: s.Actions().Perform[0].ID, Result: "sent"})
	s.Committed(store.Committed{}, store.Refuse(store.Guard, c.At, "the test"))
	if err := s.Reloaded(claim()); err != nil {
		t.Fatal(err)
	}
	done, err = h.store.Commit(t.Context(), *s.Actions().Commit)
	s.Committed(done, err)
	if o, ended, err := h.client.Outcome(t.Context(), i); !ended || o.Output != "sent" || err != nil {
		t.Errorf("got %+v, %v", o, err)
	}
}

// TestFailingPublisherHoldsUpNobody: events that cannot be sent wait in their order, and children start all the same.
func TestFailingPublisherHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var failing atomic.Bool
		failing.Store(true)
		var sent []string
		stop := h.work(worker.Config{Publish: func(_ context.Context, event json.RawMessage) error {
			if failing.Load() {
				return io.ErrClosedPipe
			}
			var e struct{ Type string }
			err := json.Unmarshal(event, &e)
			sent = append(sent, e.Type)
			return err
		}})
		h.deploy("child", "do: [{b: {set: {n: 2}}}]")
		i := h.start("do: [{e: {emit: {event: {with: {type: one}}}}}, {f: {emit: {event: {with: {type: two}}}}}, {a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		failing.Store(false)
		time.Sleep(10 * time.Second)
		stop()
		if strings.Join(sent, " ") != "one two" {
			t.Errorf("sent were %q", sent)
		}
	})
}

// TestLongIDs: children of runs with the longest ids, and of their children, can be named.
func TestLongIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("inner", "do: [{b: {set: {n: 2}}}]")
		h.deploy("child", "do: [{a: {run: {workflow: {namespace: test, name: inner, version: latest}}}}]")
		id := strings.Repeat("x", 113) + "--" + strings.Repeat("y", 13)
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{ID: id})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestSaturated: deadlines of runs that have begun hold although every slot is taken by others, and so do those of runs
// whose time runs before they begin.
func TestSaturated(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
		after    time.Duration
	}{
		"a run that waits":                    {"timeout: {after: PT3S}\ndo: [{w: {wait: PT1M}}]", client.StartOptions{}, 3 * time.Second},
		"a run that waits for a slot":         {"timeout: {after: PT3S}\ndo: [{w: {wait: PT1.5S}}, {a: " + task + "}]", client.StartOptions{}, 3 * time.Second},
		"a run that waits for its child":      {"timeout: {after: PT3S}\ndo: [{w: {run: {workflow: {namespace: test, name: child, version: latest}}}}, {a: " + task + "}]", client.StartOptions{}, 3 * time.Second},
		"a start whose timeout runs at once":  {"do: [{a: " + task + "}]", client.StartOptions{ExecutionTimeout: 5 * time.Second, Accepted: true}, 5 * time.Second},
		"a start that has to end before long": {"do: [{a: " + task + "}]", client.StartOptions{Deadline: time.Date(2000, 1, 1, 0, 0, 6, 0, time.UTC)}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // it begins at 2000-01-01T00:00:00Z
				h := newHost(t)
				h.perform = hanging
				h.deploy("child", "do: [{a: {wait: PT2S}}]")
				began := time.Now()
				defer h.work(worker.Config{Concurrency: 1})()
				var i store.Instance
				early := strings.HasPrefix(name, "a run")
				if early {
					i = h.start(c.document, c.options)
					time.Sleep(time.Second)
				}
				h.start("do: [{a: "+task+"}]", client.StartOptions{ID: "it-has-the-slot"})
				time.Sleep(100 * time.Millisecond)
				if !early {
					i = h.start(c.document, c.options)
				}
				o := h.wait(i)
				if early {
					began = o.StartedAt
				}
				if took := o.EndedAt.Sub(began); o.Fault == nil || o.Fault.Status != 408 || took.Round(500*time.Millisecond) != c.after {
					t.Errorf("got %+v after %s", o, took)
				}
			})
		})
	}
}

// TestDrainIsQuiet: while a worker waits for what is in flight, it stores what has happened once, and leaves the rest.
func TestDrainIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			performed.Add(1)
			if strings.Contains(string(r.Path), "long") {
				time.Sleep(20 * time.Second)
			} else {
				time.Sleep(2 * time.Second)
			}
			return "done", nil
		}
		stop := h.work(worker.Config{})
		i := h.start("do: [{f: {fork: {branches: [{long: "+task+"}, {two: {do: [{a: "+task+"}, {b: "+task+"}]}}]}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		if r := h.record(i); r.Version > 5 || performed.Load() != 2 || r.Ready == 0 {
			t.Errorf("%d effects were performed; the record is %+v", performed.Load(), r)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 3 {
			t.Errorf("got %+v after %d calls", o, performed.Load())
		}
	})
}

// TestDrainLosesNothing: what must not be repeated is performed even by a worker that stops, since nobody after it could.
func TestDrainLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			performed.Add(1)
			time.Sleep(2 * time.Second)
			return "done", nil
		}
		stop := h.work(worker.Config{})
		i := h.start("do: [{a: "+task+"}, {b: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 2 {
			t.Errorf("got %+v after %d calls", o, performed.Load())
		}
	})
}

// TestNobodyWaits: an effect that nobody waits for is performed, also as the last thing that a run does.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			time.Sleep(time.Second)
			performed.Add(1)
			return "done", nil
		}
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: {run: {shell: {command: x}, await: false}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		time.Sleep(2 * time.Second)
		if performed.Load() != 1 {
			t.Errorf("it was performed %d times", performed.Load())
		}
	})
}

// TestPanicsAreContained: a performer that panics takes only its instance down, which is quarantined in the end.
func TestPanicsAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			if strings.Contains(string(r.Path), "bad") {
				panic("a bug")
			}
			return "done", nil
		}
		defer h.work(worker.Config{})()
		bad := h.start("do: [{bad: "+task+"}]", client.StartOptions{})
		good := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		if o := h.wait(good); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		time.Sleep(2 * time.Minute)
		if r := h.record(bad); r.Reason != store.Quarantined {
			t.Errorf("the record is %+v", r)
		}
		if err := h.client.Terminate(t.Context(), bad, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(bad); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
	})
}

// TestChildOfLatest: a child that was started is this child, whatever has been deployed before that is known.
func TestChildOfLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("child", "do: [{a: {wait: PT10S}}]")
		stop := h.work(worker.Config{})
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		relay := worker.Relay{Store: h.store}
		start := `{"child":{"id":"` + h.child(i).ID + `","workflow":"test/child:latest","input":{},"parent":{"i":{"Namespace":"test","ID":"` + i.ID + `"},"e":1}}}`
		if _, err := h.client.Deploy(t.Context(), definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: child, version: 0.2.0}\ndo: [{a: {set: {n: 1}}}]"}); err != nil {
			t.Fatal(err)
		}
		if err := relay.Deliver(t.Context(), store.Outgoing{ID: "again", Data: []byte(start)}); err != nil {
			t.Fatal(err)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestOrdersBeforeTheStart: what is cancelled or suspended before a worker takes it starts no task.
func TestOrdersBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		document := "do: [{a: {set: {x: 1}}}, {b: " + task + "}]"
		cancelled, suspended := h.start(document, client.StartOptions{}), h.start(document, client.StartOptions{})
		if err := errors.Join(h.client.Cancel(t.Context(), cancelled, ""), h.client.Suspend(t.Context(), suspended, "")); err != nil {
			t.Fatal(err)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(cancelled); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
		time.Sleep(time.Minute)
		for _, i := range []store.Instance{cancelled, suspended} {
			for _, r := range h.records(i) {
				if strings.HasPrefix(r, "task.") {
					t.Errorf("a task ran: %s", r)
				}
			}
		}
		if err := h.client.Resume(t.Context(), suspended, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(suspended); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestPerformingNothing: a worker without slots gets on with everything but effects.
func TestPerformingNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		stop := h.work(worker.Config{Drain: time.Millisecond})
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			t.Error("something is performed")
			return nil, nil
		}
		defer h.work(worker.Config{Concurrency: -1})()
		time.Sleep(time.Second)
		if err := h.client.Cancel(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
	})
}

// TestCancelledWhileSuspended: a run that was suspended before it started can be cancelled.
func TestCancelledWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{a: {set: {x: 1}}}, {b: "+task+"}]", client.StartOptions{})
		if err := errors.Join(h.client.Suspend(t.Context(), i, ""), h.client.Cancel(t.Context(), i, "")); err != nil {
			t.Fatal(err)
		}
		defer h.work(worker.Config{Concurrency: -1})()
		if o := h.wait(i); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
	})
}

// mute is a store that takes its time to answer about definitions, and does not tell them before a moment.
type mute struct {
	store.Store
	until time.Time
	takes time.Duration
}

func (m *mute) Definition(ctx context.Context, key string) ([]byte, error) {
	untold := time.Now().Before(m.until)
	time.Sleep(m.takes)
	if untold {
		return nil, io.ErrUnexpectedEOF
	}
	return m.Store.Definition(ctx, key)
}

// TestDefinitionsOutOfReach: that definitions cannot be read for a while is no fault of an instance. Its owner gives it
// back before it seems to hang, also if something is due.
func TestDefinitionsOutOfReach(t *testing.T) {
	for name, before := range map[string]time.Duration{"new": 0, "due": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = effortless
				i := h.start("do: [{w: {wait: PT1M}}, {a: "+task+"}]", client.StartOptions{})
				if before > 0 {
					stop := h.work(worker.Config{})
					time.Sleep(before)
					stop()
				}
				h.store = &mute{Store: h.store, until: time.Now().Add(5 * time.Minute)}
				defer h.work(worker.Config{})()
				time.Sleep(4 * time.Minute)
				if r := h.record(i); r.Deaths > 0 || r.Reason != "" {
					t.Errorf("the record is %+v", r)
				}
				if o := h.wait(i); o.Status != interpreter.StatusCompleted {
					t.Errorf("got %+v", o)
				}
			})
		})
	}
}

// TestDeadlineFarAway: a deadline at the end of all calendars is one that does not pass.
func TestDeadlineFarAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: {wait: PT1H}}, {b: {set: {done: true}}}]", client.StartOptions{Deadline: time.Date(9999, 12, 31, 23, 59, 59, 123456789, time.UTC)})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestOutboxBehindWhatIsStuck: however many events cannot be sent, what stands behind them and goes elsewhere does.
func TestOutboxBehindWhatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("child", "do: [{b: {set: {n: 2}}}]")
		defer h.work(worker.Config{Publish: func(context.Context, json.RawMessage) error { return io.ErrClosedPipe }})()
		i := h.start("do: [{l: {for: {each: x, in: '${ [range(250)] }'}, do: [{e: {emit: {event: {with: {type: a}}}}}]}}, {a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}
