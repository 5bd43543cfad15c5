package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// counted counts the calls of workers to a store.
type counted struct {
	store.Store
	claims, polls, changes atomic.Int64
}

func (c *counted) ChangeActivities(ctx context.Context, change store.ChangeActivities) ([]store.ActivityChanged, error) {
	c.changes.Add(1)
	return c.Store.ChangeActivities(ctx, change)
}

func (c *counted) Claim(ctx context.Context, claim store.Claim) ([]store.Claimed, error) {
	c.claims.Add(1)
	return c.Store.Claim(ctx, claim)
}

func (c *counted) Poll(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	c.polls.Add(1)
	return c.Store.Poll(ctx, partition, n, expired)
}

// takes runs a worker that takes some queues, and may run processes or not.
func (h *host) takes(queues string, processes bool) (stop func()) {
	return h.work(worker.Config{
		Selective: true, Drain: time.Millisecond, About: presence.Worker{Queues: strings.Fields(queues), Grants: presence.Grants{Processes: processes}},
	})
}

// describedBy describes a run with the known workers.
func (h *host) describedBy(i store.Instance) *client.Description {
	h.Helper()
	c := client.Config{Store: h.store, Compile: h.compile, Workers: func(ctx context.Context) ([]presence.Worker, error) { return presence.Workers(ctx, h.store) }}
	d, err := client.New(c).Describe(h.Context(), i)
	h.must(err)
	return d
}

// TestPromise64 and 63, 65, 73: a task is performed by a worker that serves its queue: its own queue, the queue of the enclosing task, or
// the queue of the document. The queue of a call takes precedence over the queue of the function. Any worker enforces its deadlines, and
// continues the run afterwards.
func TestPromise64(t *testing.T) {
	inQueue := func(queue string) string { return "metadata: {swrun: {queue: " + queue + "}}" }
	const shell = "run: {shell: {command: x}}"
	for _, c := range []struct{ name, document string }{
		{"of the task", "do: [{a: {" + shell + ", " + inQueue("gpu") + "}}]"},
		{"of the task around it", "do: [{o: {do: [{a: {" + shell + "}}], " + inQueue("gpu") + "}}]"},
		{"of a branch", "do: [{o: {fork: {branches: [{b: {do: [{a: {" + shell + "}}], " + inQueue("gpu") + "}}]}}}]"},
		{"of the document", "{metadata: {swrun: {queue: gpu}}}\ndo: [{a: {" + shell + "}}]"},
		{"of the task before the document", "{metadata: {swrun: {queue: other}}}\ndo: [{a: {" + shell + ", " + inQueue("gpu") + "}}]"},
		{"null inherits", "{metadata: {swrun: {queue: gpu}}}\ndo: [{a: {" + shell + ", " + inQueue("null") + "}}]"},
		{"at most once", "do: [{a: {" + shell + ", metadata: {swrun: {queue: gpu, delivery: at-most-once}}}}]"},
		{"of a function", "use: {functions: {f: {" + shell + ", " + inQueue("gpu") + "}}}\ndo: [{a: {call: f}}]"},
		{"of the call before the function", "use: {functions: {f: {" + shell + ", " + inQueue("other") + "}}}\ndo: [{a: {call: f, " + inQueue("gpu") + "}}]"},
		{"which nobody waits for", "do: [{a: {run: {shell: {command: x}, await: false}, " + inQueue("gpu") + "}}]"},
		{"in branches of which nobody waits for one", "do: [{f: {fork: {branches: [{w: {wait: PT3S}}, {a: {run: {shell: {command: x}, await: false}, " + inQueue("gpu") + "}}]}}}, {z: {wait: PT3S}}]"},
		{"after a wait", "do: [{w: {wait: PT3S}}, {a: {" + shell + ", " + inQueue("gpu") + "}}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var performed atomic.Int64
				h.perform = func(context.Context, interpreter.Request) (any, error) { performed.Add(1); return "done", nil }
				defer h.takes("default other", true)()
				i := h.start(c.document, client.StartOptions{})
				time.Sleep(time.Minute)
				if performed.Load() > 0 {
					t.Fatal("it was performed by a worker that does not take its queue")
				}
				const want = "waits for a worker that may run processes and takes the queue gpu; none is there, for "
				if d := h.describedBy(i); !strings.Contains(d.Why, want) {
					t.Errorf("it is described so: %q, want %q", d.Why, want)
				}
				defer h.takes("gpu", true)()
				o := h.wait(i)
				if synctest.Wait(); o.Status != interpreter.StatusCompleted || performed.Load() != 1 {
					t.Errorf("it ends as %+v, and was performed %d times", o, performed.Load())
				}
			})
		})
	}
}

// TestDetachedIsLeft: a detached process is left to a worker that may run processes, too, and to workers for which it is reserved. The
// deadlines of its task apply in the meantime, and workers do not repeatedly claim its run.
func TestDetachedIsLeft(t *testing.T) {
	const detached = "{run: {shell: {command: x}, await: false}}"
	for _, c := range []struct {
		name     string
		reserved bool
		lacking  presence.Worker
		having   presence.Worker
		want     string
	}{
		{"permission", false, presence.Worker{Queues: []string{"*"}}, presence.Worker{Queues: []string{"*"}, Grants: presence.Grants{Processes: true}},
			"waits for a worker that may run processes; none is there, for 1h"},
		{"reserved", true, presence.Worker{Queues: []string{"*"}, Grants: presence.Grants{Processes: true}},
			presence.Worker{Queues: []string{"*"}, Grants: presence.Grants{Processes: true}, Runs: []store.Instance{{Namespace: "test", ID: "patient"}}},
			"waits for a worker that works on test/patient (swrun run DOCUMENT --id patient) alone; none is there, for 1h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				calls := &counted{Store: h.store}
				h.store = calls
				var performed atomic.Int64
				h.perform = func(context.Context, interpreter.Request) (any, error) { performed.Add(1); return "done", nil }
				defer h.work(worker.Config{Selective: true, About: c.lacking})()
				patient := h.start("do: [{w: {wait: PT3S}}, {a: "+detached+"}]", client.StartOptions{ID: "patient", Reserved: c.reserved})
				timed := h.start("do: [{t: {try: [{o: {do: [{a: "+detached+"}], timeout: {after: PT1M}}}], catch: {errors: {with: {status: 408}}, do: [{c: {set: {caught: true}}}]}}}]",
					client.StartOptions{ID: "timed", Reserved: c.reserved})
				time.Sleep(2 * time.Minute)
				if o := h.wait(timed); o.Status != interpreter.StatusCompleted || o.Output == nil {
					t.Errorf("the deadline of the task around it does not hold: %+v", o)
				}
				claims := calls.claims.Load()
				time.Sleep(time.Hour)
				if d := h.describedBy(patient); calls.claims.Load() != claims || performed.Load() > 0 || !strings.Contains(d.Why, c.want) {
					t.Errorf("it was performed %d times, there were %d claims, and it is described so: %q", performed.Load(), calls.claims.Load()-claims, d.Why)
				}
				defer h.work(worker.Config{Selective: true, About: c.having})()
				o := h.wait(patient)
				if synctest.Wait(); o.Status != interpreter.StatusCompleted || performed.Load() != 1 {
					t.Errorf("it ends as %+v, and was performed %d times", o, performed.Load())
				}
			})
		})
	}
}

// TestDefaultQueue: tasks that name the default queue are performed by its workers.
func TestDefaultQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(context.Context, interpreter.Request) (any, error) { return "done", nil }
		defer h.takes("default", true)()
		i := h.start("{metadata: {swrun: {queue: gpu}}}\ndo: [{a: {run: {shell: {command: x}}, metadata: {swrun: {queue: default}}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("it ends as %+v", o)
		}
	})
}

// TestPromise139 and 140, 141: a task that needs a permission is left to a worker that holds it. Before that no part of it runs, its
// deadlines apply, and workers without the permission do not repeatedly request it.
func TestPromise139(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		calls := &counted{Store: h.store}
		h.store = calls
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) { performed.Add(1); return "done", nil }
		defer h.takes("*", false)()
		timed := h.start("timeout: {after: PT10M}\ndo: [{a: "+task+"}]", client.StartOptions{ID: "timed"})
		caught := h.start("do: [{t: {try: [{a: {run: {shell: {command: x}}, timeout: {after: PT5M}}}], catch: {do: [{c: {set: {caught: true}}}]}}}]", client.StartOptions{ID: "caught"})
		patient := h.start("do: [{a: "+task+"}]", client.StartOptions{ID: "patient"})
		time.Sleep(time.Minute)
		claims, polls := calls.claims.Load(), calls.polls.Load()
		time.Sleep(2 * time.Minute)
		if claims != calls.claims.Load() || calls.polls.Load()-polls > 20 {
			t.Errorf("while nothing happens, there are %d claims and %d polls", calls.claims.Load()-claims, calls.polls.Load()-polls)
		}
		time.Sleep(time.Hour)
		if o := h.wait(timed); !o.TimedOut {
			t.Errorf("one whose time is over ends as %+v", o)
		}
		if o := h.wait(caught); o.Status != interpreter.StatusCompleted {
			t.Errorf("one that catches it ends as %+v", o)
		}
		if d := h.describedBy(patient); performed.Load() > 0 || !strings.Contains(d.Why, "waits for a worker that may run processes; none is there, for 1h") {
			t.Errorf("it was performed %d times, and is described so: %q", performed.Load(), d.Why)
		}
		h.must(h.client.Suspend(t.Context(), patient, ""))
		time.Sleep(time.Second)
		h.must(h.client.Resume(t.Context(), patient, ""))
		time.Sleep(time.Second)
		defer h.takes("default", true)()
		if o := h.wait(patient); o.Status != interpreter.StatusCompleted || performed.Load() != 1 {
			t.Errorf("it ends as %+v, and was performed %d times", o, performed.Load())
		}
	})
}

// TestNeedsOfBranches: branches of a run with different needs are performed by matching workers, in sequence.
func TestNeedsOfBranches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{T: t, store: memstore.New(memstore.Config{Partitions: 1})}
		h.client = client.New(client.Config{Store: h.store, Compile: h.compile})
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			time.Sleep(time.Second)
			performed.Add(1)
			return "done", nil
		}
		branch := func(name, queue string) string {
			return "{" + name + ": {run: {shell: {command: x}}, metadata: {swrun: {queue: " + queue + "}}}}"
		}
		i := h.start("do: [{f: {fork: {branches: ["+branch("x", "a")+", "+branch("y", "b")+", "+branch("z", "c")+", {w: {wait: PT10S}}]}}}]", client.StartOptions{})
		for _, queue := range []string{"a", "b", "c"} {
			defer h.takes(queue, true)()
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 3 {
			t.Errorf("it ends as %+v, and was performed %d times", o, performed.Load())
		}
		l, err := h.store.Load(t.Context(), i)
		if err != nil || l.Lifecycle.Version > 20 || l.Lifecycle.Deaths > 0 {
			t.Errorf("it is stored as %+v, %v", l.Lifecycle, err)
		}
	})
}
