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

// checkMetrics returns an error if the metrics of a worker cannot be served at an address: their requests are not authenticated.
func (f *workerFlags) checkMetrics() error {
	switch {
	case f.metrics == "" && f.publicMetrics:
		return usagef("for example --metrics :9090 --metrics-public", "--metrics-public needs --metrics")
	case f.metrics != "" && !f.publicMetrics && !server.IsLoopback(f.metrics):
		return usagef("add --metrics-public if everyone who reaches this address may read the metrics; swrun serve --auth requires tokens",
			"--metrics %s: other machines reach this address, and callers need no token", f.metrics)
	}
	return nil
}

// workBeside works, watches the store, and serves the metrics of the process if they are requested.
func (o *operation) workBeside(ctx context.Context, engine *tracedEngine, f *workerFlags) error {
	c := control.New(engine.Engine, o.store.Store, o.now)
	all, ctx := errgroup.WithContext(ctx)
	if f.metrics != "" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.metrics)
		if err != nil {
			return &exitError{code: exitInternal, message: "--metrics " + f.metrics + ": " + err.Error(), hint: "--metrics 127.0.0.1:0 takes a free port"}
		}
		fmt.Fprintf(o.err, "listening on http://%s\n", listener.Addr())
		s := server.New(server.Config{
			Control: c, Authorize: server.TrustEveryone, AnyHost: f.publicMetrics, Metrics: metrics.New(engine.Engine, o.store.Store, c.Monitor, o.now),
			MetricsOnly: true, Version: swrun.Version(), Log: f.log,
		})
		all.Go(func() error { return s.Serve(ctx, listener) })
	}
	all.Go(func() error { c.Monitor.Watch(ctx, f.log); return nil })
	all.Go(func() error { o.keepCurrent(ctx, f); return nil })
	all.Go(o.reloads(ctx, func(context.Context) {
		f.log.Info("SIGHUP: the secrets are read again")
		f.rereads.reread()
	}))
	all.Go(func() error { return engine.Work(ctx) })
	return all.Wait()
}
