package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// gauge counts concurrent effects.
type gauge struct{ now, most, all atomic.Int64 }

// performs performs an effect for a while.
func (g *gauge) performs(ctx context.Context, d time.Duration) (any, error) {
	defer g.now.Add(-1)
	n := g.now.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	g.all.Add(1)
	select {
	case <-time.After(d):
		return "done", nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// rule changes the rules of a queue.
func (h *host) rule(name string, change func(*queue.Rules)) {
	h.Helper()
	_, err := queue.Change(h.Context(), h.store, name, queue.Decision{At: time.Now(), Actor: "ann", Reason: "maintenance"}, queue.Edit{Apply: func(r *queue.Rules) error {
		change(r)
		return nil
	}})
	h.must(err)
}

func inQueue(name string) string {
	if name == "" {
		return task
	}
	return "{run: {shell: {command: x}}, metadata: {swrun: {queue: " + name + "}}}"
}

// TestQueueLimits: all workers together perform, or begin within an interval, at most the limit of a queue. All tasks are performed in the
// end, also several tasks of one run.
func TestQueueLimits(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		rules       queue.Rules
		most, limit int64         // at a time
		least       time.Duration // for all
	}{
		{"two at a time", "gpu", queue.Rules{Concurrency: 2}, 2, 2, 60 * time.Second},
		{"the default queue", "", queue.Rules{Concurrency: 3}, 3, 3, 40 * time.Second},
		{"five in ten seconds", "gpu", queue.Rules{Rate: 5, Per: 10 * time.Second}, 1, 40, 70 * time.Second},
		{"both", "gpu", queue.Rules{Concurrency: 1, Rate: 10, Per: 10 * time.Second}, 1, 1, 120 * time.Second},
		{"of any name", "other", queue.Rules{Concurrency: 1}, 1, 1, 120 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var g gauge
				h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) { return g.performs(ctx, 3*time.Second) }
				name := c.queue
				if name == "" {
					name = "default"
				}
				h.rule(name, func(r *queue.Rules) { *r = c.rules })
				for range 3 {
					defer h.takes("*", true)()
				}
				began := time.Now()
				var all []store.Instance
				for range 20 {
					all = append(all, h.start("do: [{a: "+inQueue(c.queue)+"}]", client.StartOptions{}))
				}
				branch := func(n int) string { return fmt.Sprintf("{b%d: %s}", n, inQueue(c.queue)) }
				var branches []string
				for n := range 20 {
					branches = append(branches, branch(n))
				}
				all = append(all, h.start("do: [{f: {fork: {branches: ["+strings.Join(branches, ", ")+"]}}}]", client.StartOptions{}))
				for _, i := range all {
					if o := h.wait(i); o.Status != interpreter.StatusCompleted {
						t.Fatalf("it ends as %+v", o)
					}
				}
				took := time.Since(began)
				if g.all.Load() != 40 || g.most.Load() > c.limit || g.most.Load() < c.most {
					t.Errorf("%d were performed, at most %d at a time", g.all.Load(), g.most.Load())
				}
				if took < c.least || took > c.least*3/2+10*time.Second {
					t.Errorf("it took %s, want about %s", took, c.least)
				}
				for _, i := range all[:20] {
					if r := h.record(i); r.Version > 12 {
						t.Errorf("the record of %s was written %d times", i, r.Version)
					}
				}
			})
		})
	}
}

// TestPausedQueue: no task of a paused queue begins, running tasks continue, deadlines apply, and runs report the cause of their wait.
func TestPausedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		calls := &counted{Store: h.store}
		h.store = calls
		var g gauge
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) { return g.performs(ctx, time.Minute) }
		for range 2 {
			defer h.takes("default gpu", true)()
		}
		document := "do: [{a: " + inQueue("gpu") + "}, {b: " + inQueue("gpu") + "}]"
		begun := h.start(document, client.StartOptions{ID: "begun"})
		time.Sleep(10 * time.Second)
		h.rule("gpu", func(r *queue.Rules) { r.Pause(queue.Decision{At: time.Now(), Actor: "ann", Reason: "maintenance"}) })
		time.Sleep(queue.MaxAge)
		waiting := h.start(document, client.StartOptions{ID: "waiting"})
		timed := h.start("timeout: {after: PT10M}\n"+document, client.StartOptions{ID: "timed"})
		time.Sleep(5 * time.Minute)
		claims, polls := calls.claims.Load(), calls.polls.Load()
		time.Sleep(2 * time.Minute)
		if g.all.Load() != 1 || calls.claims.Load() != claims || calls.polls.Load()-polls > 20 {
			t.Errorf("%d were performed, with %d claims and %d polls in two minutes", g.all.Load(), calls.claims.Load()-claims, calls.polls.Load()-polls)
		}
		for _, i := range []store.Instance{begun, waiting} {
			if d := h.describedBy(i); !strings.Contains(d.Why, "waits: the queue gpu is paused since 2000-01-01 00:00:10Z by ann (maintenance), for ") {
				t.Errorf("%s is described so: %q", i, d.Why)
			}
		}
		if o := h.wait(timed); !o.TimedOut {
			t.Errorf("one whose time is over ends as %+v", o)
		}
		h.rule("gpu", (*queue.Rules).Resume)
		for _, i := range []store.Instance{begun, waiting} {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Errorf("it ends as %+v", o)
			}
		}
	})
}

// TestPermitsOfLostWorkers: a worker that is lost, or stops, blocks other workers only briefly.
func TestPermitsOfLostWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var g gauge
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) { return g.performs(ctx, 10*time.Second) }
		h.rule("gpu", func(r *queue.Rules) { r.Concurrency = 1 })
		_, err := h.store.Permit(t.Context(), store.Permit{Queue: "gpu", Wanted: []string{"worker lost 1"}, For: 15 * time.Second})
		h.must(err)
		stop := h.takes("gpu", true)
		i := h.start("do: [{a: "+inQueue("gpu")+"}]", client.StartOptions{})
		time.Sleep(14 * time.Second)
		if d := h.describedBy(i); g.all.Load() > 0 || !strings.Contains(d.Why, "waits for its turn in the queue gpu (at most 1 at a time), for 14s") {
			t.Errorf("%d were performed, and it is described so: %q", g.all.Load(), d.Why)
		}
		time.Sleep(3 * time.Second)
		if g.all.Load() != 1 {
			t.Errorf("%d were performed when the permit of the worker that was lost has ended", g.all.Load())
		}
		stop() // it gives up its effects
		defer h.takes("gpu", true)()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("it ends as %+v", o)
		}
		time.Sleep(time.Second)
		if all, err := h.store.Holders(t.Context(), "gpu"); err != nil || len(all) > 0 {
			t.Errorf("in the end permits are held by %q, %v", all, err)
		}
	})
}

// TestUnlimitedQueues: without limits no worker requests permits, and rules are read every two seconds at most.
func TestUnlimitedQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		calls := &asked{Store: h.store}
		h.store = calls
		h.perform = func(context.Context, interpreter.Request) (any, error) { return "done", nil }
		defer h.work(worker.Config{Selective: true, About: presence.Worker{Queues: []string{"*"}, Grants: presence.Grants{Processes: true}}})()
		for range 100 {
			h.wait(h.start("do: [{a: "+inQueue("gpu")+"}, {b: "+task+"}, {w: {wait: PT0.1S}}]", client.StartOptions{}))
		}
		if calls.permits.Load() > 0 || calls.lists.Load() > 20 {
			t.Errorf("there were %d calls for permits, and %d for rules", calls.permits.Load(), calls.lists.Load())
		}
		time.Sleep(time.Second)
		lists := calls.lists.Load()
		time.Sleep(time.Hour)
		if calls.lists.Load() != lists {
			t.Error("an idle worker asks for rules")
		}
	})
}

// asked counts calls that concern queues.
type asked struct {
	store.Store
	permits, lists, writes atomic.Int64
}

func (c *asked) Permit(ctx context.Context, p store.Permit) (store.Permitted, error) {
	c.permits.Add(1)
	return c.Store.Permit(ctx, p)
}

func (c *asked) ListRegistered(ctx context.Context, l store.RegistryList) ([]store.Registered, error) {
	if l.Kind == store.RegistryQueues {
		c.lists.Add(1)
	}
	return c.Store.ListRegistered(ctx, l)
}

func (c *asked) Register(ctx context.Context, r store.Registration) (store.Registered, error) {
	c.writes.Add(1)
	return c.Store.Register(ctx, r)
}
