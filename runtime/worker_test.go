package runtime_test

import (
	"context"
	"sync/atomic"
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

func TestWorkerRunsInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(context.Context, interpreter.Request) (any, error) { return "done", nil }
		stop := h.work(worker.Config{})
		defer stop()
		i := h.start("do: [{a: {run: {shell: {command: x}}}}, {b: {wait: {hours: 1}}}, {c: {set: '${ [., 1] }'}}]", client.StartOptions{})
		o := h.wait(i)
		if o.Status != interpreter.StatusCompleted || o.EndedAt.Sub(o.StartedAt) < time.Hour || o.EndedAt.Sub(o.StartedAt) > time.Hour+10*time.Millisecond {
			t.Errorf("got %+v after %s", o, o.EndedAt.Sub(o.StartedAt))
		}
	})
}

// TestDeadlineHolds although the task hangs.
func TestDeadlineHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		stop := h.work(worker.Config{})
		defer stop()
		i := h.start("do: [{t: {try: [{a: {run: {shell: {command: x}}, timeout: {after: PT5S}}}], catch: {as: e, do: [{b: {set: '${ $e.status }'}}]}}}]", client.StartOptions{})
		o := h.wait(i)
		if took := o.EndedAt.Sub(o.StartedAt); o.Output != 408 || took < 5*time.Second || took > 5*time.Second+10*time.Millisecond {
			t.Errorf("got %+v after %s", o, took)
		}
	})
}

func TestChildWorkflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		defer stop()
		h.deploy("child", "do: [{a: {wait: PT2S}}, {b: {set: {n: '${ .n + 1 }'}}}]")
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest, input: {n: 1}}}}}]", client.StartOptions{})
		o := h.wait(i)
		if got, _ := o.Output.(map[string]any); got["n"] != 2 {
			t.Errorf("got %+v", o)
		}
		unknown := h.start("do: [{a: {run: {workflow: {namespace: test, name: none, version: latest}}}}]", client.StartOptions{})
		if o := h.wait(unknown); o.Fault == nil || !errors.Same(o.Fault.Type, errors.Configuration) {
			t.Errorf("got %+v", o)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stopped := make(chan struct{})
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			<-ctx.Done()
			close(stopped)
			return nil, context.Cause(ctx)
		}
		stop := h.work(worker.Config{})
		defer stop()
		i := h.start("do: [{a: {run: {shell: {command: x}}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		began := time.Now()
		if err := h.client.Cancel(t.Context(), i, "enough"); err != nil {
			t.Fatal(err)
		}
		<-stopped
		if o := h.wait(i); o.Status != interpreter.StatusCancelled || time.Since(began) > 300*time.Millisecond {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
	})
}

// TestRetention removes runs that ended long enough ago.
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

// TestParksAfterACancel: a run whose effect was cancelled and that waits for long is not held during the wait.
func TestParksAfterACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		defer h.work(worker.Config{})()
		i := h.start("do: [{t: {try: [{a: {run: {shell: {command: x}}, timeout: {after: PT2S}}}], catch: {do: [{w: {wait: PT1H}}]}}}]", client.StartOptions{})
		time.Sleep(10 * time.Second)
		if r := h.record(i); r.Held() {
			t.Errorf("it is held: %+v", r)
		}
	})
}
