package redisstore

import (
	"context"
	"net"
	"sync/atomic"
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
	n := s.newNode(gone)
	s.mu.Lock()
	s.nodes[gone] = n
	s.mu.Unlock()
	r := &request{call: &call{script: &s.scripts.page}, done: make(chan struct{})}
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

// TestWhatOneRunTakes: a run of a script answers the requests that fit: those of one partition if partitions are separate, and few enough
// that the server is soon available to others.
func TestWhatOneRunTakes(t *testing.T) {
	scripts := newScripts()
	of := func(s *script, partition, bytes, more int) *request {
		return &request{call: &call{partition: partition, script: s, args: append(make([]any, more), make([]byte, bytes))}}
	}
	small := func(partition int) *request { return of(&scripts.apply, partition, 100, 0) }
	large := func() *request { return of(&scripts.apply, 0, maxRunBytes*2/3, 0) }
	many := func() *request { return of(&scripts.apply, 0, 0, maxRunArguments*2/3) }
	other := func() *request { return of(&scripts.adopt, 0, 0, 0) }
	alone, whole := small(0), small(0)
	alone.alone, whole.whole = true, true
	for _, c := range []struct {
		name     string
		apart    bool
		requests []*request
		runs     int
	}{
		{"several partitions", false, []*request{small(0), small(1), small(0)}, 1},
		{"several partitions that are apart", true, []*request{small(0), small(1), small(0)}, 2},
		{"other scripts between", false, []*request{small(0), other(), small(1), other()}, 3},
		{"the form for full memory", false, []*request{small(0), of(&scripts.applyFull, 0, 100, 0), small(1)}, 2},
		{"large ones", false, []*request{large(), large(), large()}, 3},
		{"one that is too large", false, []*request{of(&scripts.apply, 0, 2*maxRunBytes, 0)}, 1},
		{"many arguments", false, []*request{many(), many()}, 2},
		{"one that is to be alone", false, []*request{small(0), small(0), alone}, 2},
		{"one of a forgotten script", false, []*request{small(0), small(0), whole}, 2},
		{"nothing", false, nil, 0},
	} {
		n := &node{complete: func([]*request) {}}
		n.spread.Store(!c.apart)
		answered := 0
		runs := n.runsFor(c.requests, nil)
		for _, r := range runs {
			answered += len(r.requests)
		}
		if len(runs) != c.runs || answered != len(c.requests) {
			t.Errorf("%s: %d runs for %d of %d requests, want %d runs", c.name, len(runs), answered, len(c.requests), c.runs)
		}
	}
}

// TestRepliesOfOthers: an answer that is not the reply to a request is not accepted as one.
func TestRepliesOfOthers(t *testing.T) {
	s := &Store{seen: make([]atomic.Int64, 1), clocks: make([]clock, 1), uptime: uptime}
	for _, c := range []struct {
		reply any
		ok    bool
	}{
		{"OK 1795262210478 7 a", true},
		{[]any{"OK 1795262210478 8 a", int64(1)}, true},
		{"OK 1795262210478 9 b", false},
		{[]any{"OK 1795262210478 9 b"}, false},
		{"OK", false}, {int64(1), false}, {[]any{}, false}, {nil, false},
	} {
		if _, err := s.read(&request{call: &call{}, echo: "a"}, c.reply); (err == nil) != c.ok {
			t.Errorf("%v: got %v", c.reply, err)
		}
	}
	if seen := s.seen[0].Load(); seen != 8 {
		t.Errorf("%d writes were seen, want 8", seen)
	}
}
