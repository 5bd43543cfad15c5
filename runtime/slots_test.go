package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// onceAfterWait is a document whose second task must not be performed twice.
const onceAfterWait = "do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]"

// TestAtMostOnceIsNotBegunWithoutASlot: an at-most-once effect is not stored as begun by a worker that cannot perform it, because it
// performs no effects or because all its slots are taken when it is stopped.
func TestAtMostOnceIsNotBegunWithoutASlot(t *testing.T) {
	for name, second := range map[string]worker.Config{
		"performs nothing": {Concurrency: -1, Drain: 2 * time.Second},
		"has no slot":      {Concurrency: 1, Drain: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var performed atomic.Int64
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					if strings.HasSuffix(string(r.Path), "/a") {
						performed.Add(1)
						return "done", nil
					}
					return hanging(ctx, r)
				}
				stop := h.work(second)
				i := h.start(onceAfterWait, client.StartOptions{})
				if second.Concurrency < 0 { // which begins nothing
					first := h.work(worker.Config{})
					time.Sleep(time.Second)
					first()
				}
				time.Sleep(time.Second)
				h.start("do: [{hog: "+task+"}]", client.StartOptions{})
				time.Sleep(20 * time.Second)
				if r := h.record(i); r.Deaths > 0 || performed.Load() > 0 {
					t.Errorf("performed %d times, and the record is %+v", performed.Load(), r)
				}
				stop()
				defer h.work(worker.Config{})()
				if o := h.wait(i); performed.Load() != 1 || o.Status != interpreter.StatusCompleted {
					t.Errorf("performed %d times: %+v", performed.Load(), o)
				}
			})
		})
	}
}

// TestAtMostOnceGetsItsSlot: as soon as there is one.
func TestAtMostOnceGetsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			if !strings.HasSuffix(string(r.Path), "/a") {
				time.Sleep(20 * time.Second)
			}
			return "done", nil
		}
		defer h.work(worker.Config{Concurrency: 1})()
		i := h.start(onceAfterWait, client.StartOptions{})
		time.Sleep(time.Second)
		began := time.Now()
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began) > 22*time.Second {
			t.Errorf("after %s: %+v", time.Since(began), o)
		}
	})
}

// TestDeadlinesGoOnWithoutASlot: while one branch waits for a slot for an effect that must not be performed twice, the
// timeout of another is enforced and stored.
func TestDeadlinesGoOnWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		defer h.work(worker.Config{Concurrency: 1})()
		i := h.start("do: [{f: {fork: {branches: [{one: {do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]}},"+
			"{two: {try: [{w: {wait: PT10M, timeout: {after: PT10S}}}], catch: {do: [{late: {wait: PT1H}}]}}}]}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		time.Sleep(11 * time.Second)
		d, err := client.New(client.Config{Store: h.store, Compile: h.compile}).Describe(t.Context(), i)
		if err != nil || !strings.Contains(d.Why, "waits for a worker with a free slot") {
			t.Errorf("it is described so: %+v, %v", d, err)
		}
		r := h.record(i)
		if all := strings.Join(h.records(i), " "); !r.Deadline.IsZero() || !strings.Contains(all, "task.faulted") {
			t.Errorf("the record is %+v, the history %s", r, all)
		}
	})
}

const once = "metadata: {swrun: {delivery: at-most-once}}"

// TestSlotsOfOtherWorkers: a run that waits for a slot at a worker without free slots moves to a worker with one.
func TestSlotsOfOtherWorkers(t *testing.T) {
	for name, full := range map[string]worker.Config{"full": {Concurrency: 1}, "idle": {Concurrency: -1}} {
		for kind, metadata := range map[string]string{"once": ", " + once, "plain": ""} {
			t.Run(name+" "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHost(t)
					var performed atomic.Int64
					h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
						if !strings.HasSuffix(string(r.Path), "/a") {
							return hanging(ctx, r)
						}
						if performed.Add(1); r.Attempt != 1 {
							t.Errorf("it is attempt %d", r.Attempt)
						}
						return "done", nil
					}
					first := h.work(worker.Config{})
					i := h.start("do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}}"+metadata+"}}]", client.StartOptions{})
					time.Sleep(time.Second)
					first()
					defer h.work(full)()
					if full.Concurrency > 0 {
						h.start("do: [{hog: "+task+"}]", client.StartOptions{})
					}
					time.Sleep(20 * time.Second)
					defer h.work(worker.Config{})()
					time.Sleep(20 * time.Second)
					if r := h.record(i); performed.Load() != 1 || r.Status != interpreter.StatusCompleted {
						t.Errorf("performed %d times: %+v", performed.Load(), r)
					}
				})
			})
		}
	}
}

// TestDetachedAtMostOnceIsPerformed also without a free slot, since no other worker knows of it.
func TestDetachedAtMostOnceIsPerformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			if !strings.HasSuffix(string(r.Path), "/a") {
				return hanging(ctx, r)
			}
			performed.Add(1)
			return "done", nil
		}
		defer h.work(worker.Config{Concurrency: 1})()
		i := h.start("do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}, await: false}, "+once+"}}]", client.StartOptions{})
		time.Sleep(time.Second)
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		h.wait(i)
		time.Sleep(time.Second)
		if performed.Load() != 1 {
			t.Errorf("performed %d times", performed.Load())
		}
	})
}

// TestIdleOwnerPerformsNothing: it does not even perform detached effects when the run ends or is cancelled.
func TestIdleOwnerPerformsNothing(t *testing.T) {
	for name, tail := range map[string]string{"last": "", "cancelled": ", {z: {wait: PT1H}}"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				first := h.work(worker.Config{})
				i := h.start("do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}, await: false}}}"+tail+"]", client.StartOptions{})
				time.Sleep(time.Second)
				first()
				h.perform = func(context.Context, interpreter.Request) (any, error) {
					t.Error("something is performed")
					return nil, nil
				}
				defer h.work(worker.Config{Concurrency: -1})()
				time.Sleep(4500 * time.Millisecond)
				if err := h.client.Cancel(t.Context(), i, ""); err != nil {
					t.Fatal(err)
				}
				if o := h.wait(i); o.Status != interpreter.StatusCancelled {
					t.Errorf("it ended as %+v", o)
				}
			})
		})
	}
}

// TestNotBegunIsNoAttempt: an effect that a stopping worker did not begin is performed by the next worker as the first attempt. The same
// applies to an effect that was handed over because another branch continued.
func TestNotBegunIsNoAttempt(t *testing.T) {
	branch := func(wait, name string) string {
		return "{" + name + name + ": {do: [{w: {wait: " + wait + "}}, {" + name + ": " + task + "}]}}"
	}
	for name, document := range map[string]string{
		"waits":            "do: [{w: {wait: PT5S}}, {a: " + task + "}]",
		"wanted meanwhile": "do: [{first: {run: {shell: {command: x}}}}, {a: " + task + "}]",
		"two branches":     "do: [{f: {fork: {branches: [" + branch("PT5S", "a") + ", " + branch("PT10S", "b") + "]}}}]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					switch {
					case strings.HasSuffix(string(r.Path), "/hog"):
						return hanging(ctx, r)
					case strings.HasSuffix(string(r.Path), "/first"):
						time.Sleep(6500 * time.Millisecond)
					case r.Attempt != 1:
						t.Errorf("%s is attempt %d", r.Path, r.Attempt)
					}
					return "done", nil
				}
				stop := h.work(worker.Config{Concurrency: 1, Drain: time.Second})
				i := h.start(document, client.StartOptions{})
				time.Sleep(time.Second)
				h.start("do: [{hog: "+task+"}]", client.StartOptions{})
				time.Sleep(5 * time.Second)
				if name == "two branches" {
					time.Sleep(15 * time.Second)
				}
				stop()
				defer h.work(worker.Config{})()
				if o := h.wait(i); o.Status != interpreter.StatusCompleted {
					t.Errorf("got %+v", o)
				}
			})
		})
	}
}

// TestSaturated: deadlines of runs in progress apply although every slot is taken by other runs, and so do deadlines of runs whose time
// counts before they begin.
func TestSaturated(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
		after    time.Duration
	}{
		"a run that waits":                    {"timeout: {after: PT3S}\ndo: [{w: {wait: PT1M}}]", client.StartOptions{}, 3 * time.Second},
		"a run that waits for a slot":         {"timeout: {after: PT3S}\ndo: [{w: {wait: PT1.5S}}, {a: " + task + "}]", client.StartOptions{}, 3 * time.Second},
		"a run that waits for its child":      {"timeout: {after: PT3S}\ndo: [{w: {run: {workflow: {namespace: test, name: child, version: latest}}}}, {a: " + task + "}]", client.StartOptions{}, 3 * time.Second},
		"a start whose timeout runs at once":  {"do: [{a: " + task + "}]", client.StartOptions{ExecutionTimeout: 5 * time.Second, TimeoutsFromAccept: true}, 5 * time.Second},
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
