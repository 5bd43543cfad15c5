package tracing_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/tracing"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// traced is a store whose runs are traced by each process that works on it.
type traced struct {
	*testing.T
	store *swrun.Store
	spans *tracetest.InMemoryExporter
}

// kept is an exporter that keeps its spans when a process stops.
type kept struct{ *tracetest.InMemoryExporter }

func (kept) Shutdown(context.Context) error { return nil }

func newTraced(t *testing.T) *traced {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return &traced{t, s, tracetest.NewInMemoryExporter()}
}

// work runs a process that works on the runs until stop is called, which exports its spans.
func (x *traced) work(c swrun.EngineConfig) (e *swrun.Engine, stop func()) {
	x.Helper()
	tracer, err := tracing.New(x.Context(), tracing.Config{Exporter: kept{x.spans}, Log: slog.New(slog.DiscardHandler), History: func(ctx context.Context, i store.Instance, f func(client.HistoryEntry) error) error {
		_, err := e.Client().History(ctx, i, 0, f)
		return err
	}})
	if err != nil {
		x.Fatal(err)
	}
	c.Trace = tracer.Observe
	if e, err = swrun.NewEngine(x.store, c); err != nil {
		x.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tracingCtx, stopTracing := context.WithCancel(context.Background())
	var working, tracing sync.WaitGroup
	working.Go(func() {
		if err := e.Work(ctx); err != nil {
			x.Error(err)
		}
	})
	tracing.Go(func() { tracer.Run(tracingCtx) })
	return e, func() {
		cancel()
		working.Wait()
		stopTracing()
		tracing.Wait()
	}
}

func (x *traced) parse(text string) *swrun.Document {
	x.Helper()
	d, err := swrun.Parse("traced.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, "+text))
	if err != nil {
		x.Fatal(err)
	}
	return d
}

// span returns the span of a name; there must be one.
func (x *traced) span(name string) tracetest.SpanStub {
	x.Helper()
	all := x.spans.GetSpans()
	n := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Name == name })
	if n < 0 || slices.ContainsFunc(all[n+1:], func(s tracetest.SpanStub) bool { return s.Name == name }) {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		x.Fatalf("not one span %s among %q", name, names)
	}
	return all[n]
}

// within reports whether a span is in another one, of the same trace.
func within(s, around tracetest.SpanStub) bool {
	return s.Parent.SpanID() == around.SpanContext.SpanID() && s.SpanContext.TraceID() == around.SpanContext.TraceID()
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestOneRunIsOneTrace: a run on which two processes have worked, one after the other, is one trace below the span that has started it. The spans of
// tasks are inside of the spans of the tasks around them, and begin with their tasks. The span of a child is inside of the span of the task that
// started it.
func TestOneRunIsOneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTraced(t)
		child := x.parse("name: child, version: 1.0.0}\ndo: [{leaf: {raise: {error: {type: 'https://x.test/secret-type', status: 500, detail: secret-detail}}}}]")
		d := x.parse("name: parent, version: 1.0.0}\ndo:\n- outer:\n    do:\n    - nap: {wait: PT1H}\n    - calls: {try: [{family: {run: {workflow: {namespace: demo, name: child, version: 1.0.0, input: {k: secret-input}}}}}], catch: {}}\n")
		e, stop := x.work(swrun.EngineConfig{})
		began := time.Now()
		run, err := e.StartDocument(client.WithTraceParent(t.Context(), parent), d, map[string]any{"k": "secret-input"}, swrun.StartOptions{}, child)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		stop()
		e, stop = x.work(swrun.EngineConfig{})
		if _, err := e.Run(run.Namespace, run.ID).Await(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		stop()

		top := x.span("demo/parent")
		if top.SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || top.Parent.SpanID().String() != "b7ad6b7169203331" {
			t.Errorf("the run is in %s below %s", top.SpanContext.TraceID(), top.Parent.SpanID())
		}
		outer, nap, calls, family, below, leaf := x.span("outer"), x.span("nap"), x.span("calls"), x.span("family"), x.span("demo/child"), x.span("leaf")
		for name, in := range map[string]bool{
			"outer in the run": within(outer, top), "nap in outer": within(nap, outer), "calls in outer": within(calls, outer), "family in calls": within(family, calls),
			"the child in family": within(below, family), "leaf in the child": within(leaf, below),
		} {
			if !in {
				t.Errorf("not %s", name)
			}
		}
		if took := nap.EndTime.Sub(nap.StartTime); took != time.Hour || !top.StartTime.Equal(began.Truncate(time.Millisecond)) {
			t.Errorf("nap took %s, and the run began at %s", took, top.StartTime)
		}
		if leaf.Status.Code != codes.Error || top.Status.Code == codes.Error {
			t.Errorf("the statuses are %v and %v", leaf.Status, top.Status)
		}
		for _, s := range x.spans.GetSpans() {
			for _, a := range s.Attributes {
				if strings.Contains(a.Value.AsString(), "secret") {
					t.Errorf("the span %s says %s", s.Name, a.Value.AsString())
				}
			}
			if strings.Contains(s.Status.Description, "secret") {
				t.Errorf("the span %s failed because of %s", s.Name, s.Status.Description)
			}
		}
	})
}

// TestTracesOfTheirOwn: runs without an earlier trace have their own traces, which do not change. A start that is repeated in another trace, or by
// another caller, is the same start.
func TestTracesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTraced(t)
		e, stop := x.work(swrun.EngineConfig{})
		for _, name := range []string{"a", "b"} {
			d := x.parse("name: " + name + ", version: 1.0.0}\ndo: [{only: {set: {x: 1}}}]")
			for _, header := range []string{"", "nonsense", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", parent} {
				run, err := e.StartDocument(client.WithActor(client.WithTraceParent(t.Context(), header), "actor"+header), d, nil, swrun.StartOptions{ID: "r-" + name})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := run.Await(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		time.Sleep(time.Minute)
		stop()
		a, b := x.span("demo/a"), x.span("demo/b")
		if a.SpanContext.TraceID() == b.SpanContext.TraceID() || a.Parent.SpanID().IsValid() || b.Parent.SpanID().IsValid() {
			t.Errorf("the runs are in %s and %s", a.SpanContext.TraceID(), b.SpanContext.TraceID())
		}
	})
}

// TestNotTraced: the spans of an unsampled trace are not recorded, and nothing is exported unless the environment requests it.
func TestNotTraced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTraced(t)
		e, stop := x.work(swrun.EngineConfig{})
		run, err := e.StartDocument(client.WithTraceParent(t.Context(), strings.TrimSuffix(parent, "01")+"00"), x.parse("name: a, version: 1.0.0}\ndo: [{only: {set: {x: 1}}}]"), nil, swrun.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Await(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		if spans := x.spans.GetSpans(); len(spans) != 0 {
			t.Errorf("exported %d spans", len(spans))
		}
	})
	for name, c := range map[string]struct {
		env   map[string]string
		wants bool
	}{
		"nothing":              {nil, false},
		"an endpoint":          {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true},
		"one for traces":       {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, true},
		"the exporter":         {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		"no exporter":          {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"all of it turned off": {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"an empty endpoint":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, false},
	} {
		exporter, err := tracing.Exporter(t.Context(), func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		if err != nil || (exporter != nil) != c.wants {
			t.Errorf("%s: got %v, %v", name, exporter, err)
		}
	}
}

var _ sdktrace.SpanExporter = kept{}
