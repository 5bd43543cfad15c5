package redisstore

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestNodeThatLeaves: while a server that has left the cluster is still being dialed in vain, the others are worked with.
func TestNodeThatLeaves(t *testing.T) {
	s, err := Open(t.Context(), redistest.Start(t).URL(), Config{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // the server is gone then
	dialing := make(chan struct{}, 1)
	gone := redis.NewClient(&redis.Options{MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialing <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	n := newNode(gone, s.address, true, slog.New(slog.DiscardHandler))
	s.mu.Lock()
	s.nodes[gone] = n
	s.mu.Unlock()
	r := &request{ctx: t.Context(), args: s.scripts.promote.arguments(0), s: &s.scripts.promote, done: make(chan struct{})}
	go s.enqueue(t.Context(), n, r)
	<-dialing
	gone.Close() // as go-redis does with the client of a server that has left
	s.failed(n, redis.ErrClosed)
	if _, err := s.Poll(t.Context(), 0, 1, false); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.done:
		t.Error("it was waited for the server that has left")
	default:
	}
	if err := s.enqueue(t.Context(), n, r); err != redis.ErrClosed {
		t.Errorf("the next request is answered with %v", err)
	}
	<-r.done
	if len(s.nodes) != 1 {
		t.Errorf("%d servers are known", len(s.nodes))
	}
}
