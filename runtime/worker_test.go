package runtime_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/tasks"
)

// host is a store with workers, all of it in a bubble of virtual time.
type host struct {
	*testing.T
	store   store.Store
	client  *runtime.Client
	perform interpreter.Performer // of run_shell
	limits  limits.Set            // of what is compiled
}

func newHost(t *testing.T) *host {
	store := memstore.New(memstore.Config{Partitions: 2})
	h := &host{T: t, store: store}
	h.client = runtime.NewClient(runtime.ClientConfig{Store: store, Compile: h.compile})
	return h
}

func (h *host) compile(d definition.Definition) (*interpreter.Program, error) {
	w, found := dsl.Parse("test.yaml", []byte(d.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	kinds := []interpreter.Kind{{
		Kind: dsl.KindRunShell, Compile: newEffect,
		Perform: func(ctx context.Context, r interpreter.Request) (any, error) { return h.perform(ctx, r) },
	}}
	for _, k := range tasks.All(tasks.Config{}) {
		if k.Kind != dsl.KindRunShell {
			kinds = append(kinds, k)
		}
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds, Limits: h.limits})
	return p, found.Err()
}

// work runs a worker until the function that it returns is called.
func (h *host) work(c runtime.WorkerConfig) (stop func()) {
	c.Store, c.Compile = h.store, h.compile
	if testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(h.Output(), nil))
	}
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.NewWorker(c).Run(ctx)
	}()
	return func() { cancel(); <-done }
}

func (h *host) start(document string, o runtime.StartOptions) store.Instance {
	h.Helper()
	document = "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\n" + document
	i, err := h.client.StartDefinition(h.Context(), definition.Definition{Document: document}, nil, o)
	if err != nil {
		h.Fatal(err)
	}
	return i
}

func (h *host) deploy(name, document string) {
	h.Helper()
	document = "document: {dsl: 1.0.3, namespace: test, name: " + name + ", version: 0.1.0}\n" + document
	if _, err := h.client.Deploy(h.Context(), definition.Definition{Document: document}); err != nil {
		h.Fatal(err)
	}
}

func (h *host) wait(i store.Instance) execution.Outcome {
	h.Helper()
	o, err := h.client.Wait(h.Context(), i)
	if err != nil {
		h.Fatal(err)
	}
	return o
}

func TestWorkerRunsInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(context.Context, interpreter.Request) (any, error) { return "done", nil }
		stop := h.work(runtime.WorkerConfig{})
		defer stop()
		i := h.start("do: [{a: {run: {shell: {command: x}}}}, {b: {wait: {hours: 1}}}, {c: {set: '${ [., 1] }'}}]", runtime.StartOptions{})
		o := h.wait(i)
		if o.Status != interpreter.StatusCompleted || o.EndedAt.Sub(o.StartedAt) < time.Hour || o.EndedAt.Sub(o.StartedAt) > time.Hour+10*time.Millisecond {
			t.Errorf("got %+v after %s", o, o.EndedAt.Sub(o.StartedAt))
		}
	})
}

// TestDeadlineHolds when the worker that had the task hangs or is gone.
func TestDeadlineHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		stop := h.work(runtime.WorkerConfig{})
		defer stop()
		i := h.start("do: [{t: {try: [{a: {run: {shell: {command: x}}, timeout: {after: PT5S}}}], catch: {as: e, do: [{b: {set: '${ $e.status }'}}]}}}]", runtime.StartOptions{})
		o := h.wait(i)
		if took := o.EndedAt.Sub(o.StartedAt); o.Output != 408 || took < 5*time.Second || took > 5*time.Second+10*time.Millisecond {
			t.Errorf("got %+v after %s", o, took)
		}
	})
}

func TestChildWorkflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(runtime.WorkerConfig{})
		defer stop()
		h.deploy("child", "do: [{a: {wait: PT2S}}, {b: {set: {n: '${ .n + 1 }'}}}]")
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest, input: {n: 1}}}}}]", runtime.StartOptions{})
		o := h.wait(i)
		if got, _ := o.Output.(map[string]any); got["n"] != 2 {
			t.Errorf("got %+v", o)
		}
		unknown := h.start("do: [{a: {run: {workflow: {namespace: test, name: none, version: latest}}}}]", runtime.StartOptions{})
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
		stop := h.work(runtime.WorkerConfig{})
		defer stop()
		i := h.start("do: [{a: {run: {shell: {command: x}}}}]", runtime.StartOptions{})
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
