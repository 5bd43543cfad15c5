package runtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestPromise79 and 95: a run refers to the document that it started with, and keeps its retry policies and timeouts after later
// deployments and changes of the worker.
func TestPromise79(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		latest := definition.Reference{Namespace: "test", Name: "a", Version: definition.Latest}
		start := func() store.Instance {
			i, err := h.client.Start(t.Context(), latest, nil, client.StartOptions{})
			h.must(err)
			return i
		}
		const raise = "{raise: {error: {type: about:blank, status: 500}}}"
		h.version("1.0.0", "timeout: {after: PT25S}\ndo: [{t: {try: [{a: "+raise+"}], catch: {retry: {delay: PT10S}}}}]")
		stop := h.work(worker.Config{})
		old := start()
		time.Sleep(5 * time.Second)
		stop()
		h.version("1.1.0", "do: [{t: {try: [{a: "+raise+"}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 1}}}}}}]")
		defer h.work(worker.Config{})()
		newer := start()
		if o := h.wait(newer); took(o) != time.Second || o.TimedOut {
			t.Errorf("the run of the new version took %s: %+v", took(o), o)
		}
		if o := h.wait(old); took(o) != 25*time.Second || !o.TimedOut {
			t.Errorf("the run of the old version took %s: %+v", took(o), o)
		}
		before, after := h.described(old, false), h.described(newer, false)
		if before.Invocation.Workflow.String() != "test/a:1.0.0" || after.Invocation.Workflow.String() != "test/a:1.1.0" || before.Invocation.Definition == after.Invocation.Definition {
			t.Errorf("they are of %s %s and %s %s", before.Invocation.Workflow, before.Invocation.Definition, after.Invocation.Workflow, after.Invocation.Definition)
		}
	})
	withActivities(t, func(a *activities) { // the policy of an activity too
		a.version("1.0.0", "do: [{work: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {startToClose: PT10S}, retry: {maxAttempts: 2, backoff: [PT5S]}}}}]")
		latest := definition.Reference{Namespace: "test", Name: "a", Version: definition.Latest}
		i, err := a.client.Start(a.Context(), latest, nil, client.StartOptions{})
		a.must(err)
		task := a.poll()
		a.version("1.1.0", "do: [{work: {call: 'activity:1.0.0@default', with: {type: x, retry: {maxAttempts: 1}}}}]")
		a.must(a.matcher.Fail(a.Context(), task.Token, errors.Runtimef("no"), false))
		a.poll()
		if o := a.wait(i); o.Status != interpreter.StatusFaulted || took(o).Round(time.Second) != 15*time.Second {
			a.Errorf("got %+v after %s", o, took(o))
		}
		a.expect(a.events(i), "effect.retried 1 by w1, effect.finished 2 start_to_close by w1")
	})
}
