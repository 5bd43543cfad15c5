package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// startIn starts a run of a namespace.
func (h *host) startIn(namespace, document string) store.Instance {
	h.Helper()
	document = "document: {dsl: 1.0.3, namespace: " + namespace + ", name: a, version: 0.1.0}\n" + document
	i, err := h.client.StartDefinition(h.Context(), definition.Definition{Document: document}, nil, client.StartOptions{})
	h.must(err)
	return i
}

// TestNamespacesTakeTurnsAtActivities: a namespace of which very many activities wait leaves room to one of which one does, also with workers
// that take one at a time.
func TestNamespacesTakeTurnsAtActivities(t *testing.T) {
	withActivities(t, func(a *activities) {
		document := "do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]"
		for range 300 {
			a.startIn("large", document)
		}
		time.Sleep(time.Second)
		small := a.startIn("small", document)
		time.Sleep(time.Second) // its activity waits
		for range 60 {
			task := a.poll()
			a.must(a.matcher.Complete(a.Context(), task.Token, "done"))
			if task.ID.Run == small {
				a.wait(small)
				return
			}
		}
		a.Error("60 activities were taken, and none of them is the only one of its namespace")
	})
}

// TestNamespacesTakeTurnsAtQueues: the same of runs that wait for their turn in a queue with a limit.
func TestNamespacesTakeTurnsAtQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var g gauge
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) { return g.performs(ctx, time.Second) }
		h.rule("gpu", func(r *queue.Rules) { r.Concurrency = 1 })
		defer h.takes("*", true)()
		document := "do: [{a: " + inQueue("gpu") + "}]"
		for range 300 {
			h.startIn("large", document)
		}
		time.Sleep(10 * time.Second)
		small := h.startIn("small", document)
		h.wait(small)
		if n := g.all.Load(); n > 100 {
			t.Errorf("%d were performed before the only one of its namespace", n)
		}
	})
}

// TestNamespaceConcurrency: runs of one namespace get a limited part of a worker's slots, for any number and duration of runs, both new and
// waiting. Runs of other namespaces need not wait for them.
func TestNamespaceConcurrency(t *testing.T) {
	for name, document := range map[string]string{"new": "do: [{long: " + task + "}]", "begun": "do: [{w: {wait: PT1H}}, {long: " + task + "}]"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var large, small gauge
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					if strings.HasSuffix(string(r.Path), "/long") {
						return large.performs(ctx, 10*time.Minute)
					}
					return small.performs(ctx, time.Second)
				}
				defer h.work(worker.Config{Concurrency: 4, NamespaceConcurrency: 2, ParkAfter: time.Second})()
				var all []store.Instance
				for range 12 {
					all = append(all, h.startIn("large", document))
				}
				time.Sleep(time.Hour + time.Minute)
				began := time.Now()
				for range 8 {
					h.wait(h.startIn("small", "do: [{a: "+task+"}]"))
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("the others took %s", took)
				}
				for _, i := range all {
					h.wait(i)
				}
				if large.most.Load() != 2 {
					t.Errorf("%d of one namespace were performed at a time", large.most.Load())
				}
			})
		})
	}
}
