package main

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/tracing"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file traces the work of a worker, if the environment requests it.

// tracedEngine is an engine whose runs are traced while it works; nil traces nothing.
type tracedEngine struct {
	*swrun.Engine
	tracer *tracing.Tracer
}

// trace returns the tracer of the runs that an engine works on, according to the variables OTEL_*; nil if they request no tracing.
func (o *operation) trace(ctx context.Context, f *workerFlags, engine func() *swrun.Engine) (*tracing.Tracer, error) {
	exporter, err := tracing.Exporter(ctx, o.env)
	if err != nil {
		return nil, usagef("the variables OTEL_EXPORTER_OTLP_* specify the receiver of traces", "traces cannot be exported: %s", err)
	}
	if exporter == nil {
		return nil, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { f.log.Warn("spans were not exported", "error", err) }))
	return tracing.New(ctx, tracing.Config{
		Exporter: exporter, Version: swrun.Version(), Log: f.log,
		History: func(ctx context.Context, i store.Instance, each func(client.HistoryEntry) error) error {
			_, err := engine().Client().History(ctx, i, 0, each)
			return err
		},
	})
}

// Work is the engine's Work, and traces until it has handed over.
func (e *tracedEngine) Work(ctx context.Context) error {
	if e.tracer == nil {
		return e.Engine.Work(ctx)
	}
	var tracing sync.WaitGroup
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	tracing.Go(func() { e.tracer.Run(working) })
	err := e.Engine.Work(ctx)
	stop()
	tracing.Wait()
	return err
}
