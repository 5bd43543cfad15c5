package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a connection. An answer has no limit: a caller may wait for the end of a run, or follow it.
const (
	headerWithin = 10 * time.Second
	idleAfter    = 2 * time.Minute
	maxHeader    = 64 << 10
	stopWithin   = 5 * time.Second
)

// Serve answers the requests of a listener until ctx ends. Then it answers requests that wait or follow immediately, and completes requests in
// progress. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerWithin, IdleTimeout: idleAfter, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(requests, stoppingKey{}, ctx) },
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // mistakes of callers with their connections
	}
	var stopping sync.WaitGroup
	served := make(chan struct{})
	stopping.Go(func() {
		select {
		case <-ctx.Done():
		case <-served:
			return
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if h.Shutdown(within) != nil { // some requests are still unanswered
			giveUp()
			_ = h.Close() // an error has no remedy at this point
		}
	})
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	stopping.Go(func() { s.watchStore(watching) })
	err := h.Serve(l)
	unwatch()
	close(served)
	stopping.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

type stoppingKey struct{}

// untilStopped returns a context that also ends when the server is about to stop. Requests that wait then stop waiting.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancelCause(ctx)
	serving, ok := ctx.Value(stoppingKey{}).(context.Context)
	if !ok {
		return waiting, func() { cancel(nil) }
	}
	release := context.AfterFunc(serving, func() { cancel(errStopping) })
	return waiting, func() { release(); cancel(nil) }
}

// errStopping ends waits when the server stops.
var errStopping = errors.New("the server is stopping")

// IsLoopback reports whether an address, host:port, is reachable only from this machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
