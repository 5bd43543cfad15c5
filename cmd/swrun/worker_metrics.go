package main

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/server"
)

// checkMetrics reports why the metrics of a worker cannot be served at an address: nothing there asks who wants them.
func checkMetrics(address string) error {
	if address != "" && !server.IsLoopback(address) {
		return usagef("listen on this machine alone, for example 127.0.0.1:9090; swrun serve --auth answers others, with tokens", "--metrics %s: others would reach it, and nothing says who may ask", address)
	}
	return nil
}

// workWithMetrics works, and serves the metrics of the process at an address of this machine.
func (o *operation) workWithMetrics(ctx context.Context, engine *tracedEngine, f *workerFlags) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.metrics)
	if err != nil {
		return &exitError{code: exitInternal, message: "--metrics " + f.metrics + ": " + err.Error(), hint: "--metrics 127.0.0.1:0 takes a free port"}
	}
	fmt.Fprintf(o.err, "listening on http://%s\n", listener.Addr())
	s := server.New(server.Config{
		Control: control.New(engine.Engine, o.store.Store, o.now), Authorize: server.TrustEveryone,
		Metrics:     metrics.New(engine.Engine, o.store.Store, o.now),
		MetricsOnly: true, Version: swrun.Version(), Log: f.log,
	})
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.Serve(ctx, listener) })
	both.Go(func() error { return engine.Work(ctx) })
	return both.Wait()
}
