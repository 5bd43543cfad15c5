// Package tracing builds OpenTelemetry spans from the stored events of runs: one for each run, and one for each task. Their ids are derived from the
// run (execution.SpanID), so that a span that one process begins and another one ends is one span, and a run has one trace even if processes are
// killed.
package tracing

import (
	"context"
	"encoding/hex"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Config contains the parts that a tracer needs.
type Config struct {
	Exporter sdktrace.SpanExporter
	Version  string // of the program
	// History calls f with the history of a run from its beginning: for runs that other processes have begun.
	History func(ctx context.Context, i store.Instance, f func(client.HistoryEntry) error) error
	Log     *slog.Logger
}

// Tracer builds spans from histories. It needs Run; any goroutine may call Observe.
type Tracer struct {
	c       Config
	spans   *sdktrace.TracerProvider
	told    chan told
	dropped atomic.Int64
	runs    map[store.Instance]*progress // only used by Run
}

// told contains some events of a run.
type told struct {
	instance store.Instance
	info     *execution.Invocation
	events   []interpreter.HistoryEvent
}

const (
	// maxTold is the maximum number of steps that wait for their spans. Further ones are dropped, so that nothing waits for traces.
	maxTold = 10_000
	// maxRuns is the maximum number of cached runs in progress. The histories of other runs are read again.
	maxRuns = 10_000
	// flushWithin is the time limit for exporting the last spans.
	flushWithin = 5 * time.Second
)

// Exporter returns the exporter of spans that the variables OTEL_* specify; nil if they specify none.
func Exporter(ctx context.Context, env func(string) (string, bool)) (sdktrace.SpanExporter, error) {
	value := func(name string) string { v, _ := env(name); return v }
	exporter := value("OTEL_TRACES_EXPORTER")
	asked := exporter == "otlp" || value("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if !asked || exporter == "none" || value("OTEL_SDK_DISABLED") == "true" {
		return nil, nil
	}
	return otlptracehttp.New(ctx)
}

// New returns a tracer. The variables OTEL_* specify its sampling and the name of its resource.
func New(ctx context.Context, c Config) (*Tracer, error) {
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "swrun"), attribute.String("service.version", c.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	return &Tracer{
		c: c, told: make(chan told, maxTold), runs: map[store.Instance]*progress{},
		spans: sdktrace.NewTracerProvider(sdktrace.WithBatcher(c.Exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(derived{})),
	}, nil
}

// Observe takes stored events of a run. It never waits.
func (t *Tracer) Observe(i store.Instance, info *execution.Invocation, events []interpreter.HistoryEvent) {
	select {
	case t.told <- told{i, info, events}:
	default:
		t.dropped.Add(1)
	}
}

// Run builds spans until ctx ends, and then exports the rest.
func (t *Tracer) Run(ctx context.Context) {
	for {
		select {
		case news := <-t.told:
			t.follow(ctx, news)
			continue
		case <-ctx.Done():
		}
		break
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	for len(t.told) > 0 && ctx.Err() == nil {
		t.follow(ctx, <-t.told)
	}
	if n := t.dropped.Load(); n > 0 {
		t.c.Log.Warn("spans are missing: there was more to trace than could be exported", "steps", n)
	}
	if err := t.spans.Shutdown(ctx); err != nil {
		t.c.Log.Warn("the last spans were not exported", "error", err)
	}
}

// follow builds the spans that end with some events.
func (t *Tracer) follow(ctx context.Context, news told) {
	if len(news.events) == 0 {
		return
	}
	p := t.runs[news.instance]
	if p == nil || p.next != news.events[0].Seq {
		p = t.catchUp(ctx, news)
	}
	for n := range news.events {
		e := &news.events[n]
		if e.Seq < p.next { // its spans were built already
			continue
		}
		for _, s := range p.follow(e) {
			t.export(p, s)
			if s.path == "" {
				delete(t.runs, news.instance)
			}
		}
	}
}

// catchUp returns the progress of a run up to some events, from its history. Other processes have exported the earlier spans.
func (t *Tracer) catchUp(ctx context.Context, news told) *progress {
	p := newProgress(news.instance, news.info)
	first := news.events[0].Seq
	if first > 1 {
		err := t.c.History(ctx, news.instance, func(step client.HistoryEntry) error {
			for n := range step.Events {
				if e := &step.Events[n]; e.Seq < first {
					p.follow(e)
				}
			}
			return nil
		})
		if err != nil {
			t.c.Log.Debug("the history of a run was not read for its trace", "run", news.instance.String(), "error", err)
		}
	}
	if len(t.runs) >= maxRuns {
		t.runs = map[store.Instance]*progress{}
	}
	p.next = first
	t.runs[news.instance] = p
	return p
}

// export exports one span.
func (t *Tracer) export(p *progress, s span) {
	at := p.info.TraceOf(p.instance)
	parent := at.Parent
	if s.path != "" {
		parent = execution.SpanID(p.instance, p.parentOf(s.path))
	}
	ctx := context.WithValue(context.Background(), idsKey{}, ids{traceID(at.ID), spanID(execution.SpanID(p.instance, s.path))})
	if parent != "" {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: traceID(at.ID), SpanID: spanID(parent), TraceFlags: flags(at.Flags), Remote: true,
		}))
	}
	_, made := t.spans.Tracer("github.com/swrun/swrun").Start(ctx, s.name, trace.WithTimestamp(s.start), trace.WithAttributes(s.attributes...))
	for _, e := range s.events {
		made.AddEvent(e.name, trace.WithTimestamp(e.at), trace.WithAttributes(e.attributes...))
	}
	made.SetStatus(s.status, s.because)
	made.End(trace.WithTimestamp(s.end))
}

// derived gives spans the ids in their context.
type derived struct{}

type (
	idsKey struct{}
	ids    struct {
		trace trace.TraceID
		span  trace.SpanID
	}
)

func (derived) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	named := ctx.Value(idsKey{}).(ids)
	return named.trace, named.span
}

func (derived) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(idsKey{}).(ids).span
}

func traceID(text string) (id trace.TraceID) {
	_, _ = hex.Decode(id[:], []byte(text)) // it was created, or checked, as hexadecimal
	return id
}

func spanID(text string) (id trace.SpanID) {
	_, _ = hex.Decode(id[:], []byte(text)) // it was created, or checked, as hexadecimal
	return id
}

func flags(text string) trace.TraceFlags {
	var f [1]byte
	_, _ = hex.Decode(f[:], []byte(text)) // it was created, or checked, as hexadecimal
	return trace.TraceFlags(f[0])
}
