package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// reply is the answer of a script.
type reply struct {
	code   string
	at     time.Time
	values []any
}

// list returns a value of the reply that is a list.
func (r reply) list(n int) []any {
	if n >= len(r.values) {
		return nil
	}
	all, _ := r.values[n].([]any)
	return all
}

// call is a request to a script.
type call struct {
	script     *script
	partition  int
	subject    string // in errors
	keys, args []any  // without the arguments of scripts/clock.lua
	answers    int    // that it gets: of a script that answers several requests, one for each change
	forReading bool   // it belongs to a read, which does without it while the server takes no writes
}

// call runs a script that has one answer. Its error is a *store.Refusal, or leaves open whether the script has run.
func (s *Store) call(ctx context.Context, c call) (reply, error) {
	c.answers = 1
	all, err := s.repeat(ctx, &c)
	if err != nil {
		return reply{}, err
	}
	return all[0], refusal(all[0], c.subject)
}

// repeat runs a script, and repeats the same while it is not answered for a reason that may pass. An error leaves open whether
// the script has run.
func (s *Store) repeat(ctx context.Context, c *call) ([]reply, error) {
	for failures := 1; ; failures++ {
		n, err := s.node(ctx, c.partition)
		var all []reply
		if err == nil {
			all, err = s.try(ctx, n, &request{unwanted: ctx.Done(), call: c})
		}
		if err == nil {
			n.outage.wrote(s.uptime)
			return all, nil
		}
		if ctx.Err() != nil || c.forReading && refusesWrites(err) || !s.passes(ctx, err) {
			s.damaged.note(c.partition, err)
			return nil, fmt.Errorf("%s %s: %w", c.script.name, c.subject, err)
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

func (s *Store) try(ctx context.Context, n *node, r *request) ([]reply, error) {
	r.echo, r.done = strconv.FormatUint(s.calls.Add(1), 36), make(chan struct{})
	err := s.enqueue(ctx, n, r)
	if err == nil {
		err = r.err
	}
	if err != nil {
		if r.script.changes && r.stage.Load() == stageSent && !isRefused(err) {
			store.Attempted(ctx)
		}
		return nil, s.damageBy(ctx, n, r.call, err)
	}
	all := r.first[:0]
	for _, answered := range r.replies {
		one, err := s.read(r, answered)
		if err != nil {
			return nil, err
		}
		if r.script.changes && one.code == "OK" {
			store.Attempted(ctx)
		}
		all = append(all, one)
	}
	return all, nil
}

// isRefused reports whether an error guarantees that nothing was changed: there was no connection, or the server refused the whole request.
func isRefused(err error) bool {
	var dialing *net.OpError
	return errors.As(err, &dialing) && dialing.Op == "dial" || codeOf(err) != "" && !isOfScript(err)
}

// complete adds the arguments of scripts/clock.lua to requests that are about to be sent. Adjacent requests of the same partition get the
// same arguments.
func (s *Store) complete(requests []*request) {
	now := s.uptime()
	for i, r := range requests {
		if r.sent = now; i > 0 && requests[i-1].partition == r.partition {
			r.seen, r.expected = requests[i-1].seen, requests[i-1].expected
		} else {
			r.seen, r.expected = s.seen[r.partition].Load(), s.clocks[r.partition].expected(now)
		}
	}
}

// enqueue waits for the answer to a request, as long as ctx allows.
func (s *Store) enqueue(ctx context.Context, n *node, r *request) error {
	s.closing.RLock()
	if s.closed || n.closed {
		s.closing.RUnlock()
		return redis.ErrClosed
	}
	err := n.queue(ctx, r)
	s.closing.RUnlock()
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	if !r.stage.CompareAndSwap(stageWaits, stageAbandoned) && r.call != nil && r.call.script.changes && r.hears(lastAnswer) {
		return nil
	}
	return context.Cause(ctx)
}

// lastAnswer is how long the answer to a change is awaited after its caller gave up. The answer reports whether the change was made.
const lastAnswer = time.Second

// hears waits for the answer to a request that was sent, and reports whether it came in time.
func (r *request) hears(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-r.done:
		return !errors.Is(r.err, context.Canceled) // it was to be sent again, and was not
	case <-timer.C:
		return false
	}
}

// queue puts a request into the queue of the node, for which ctx may have to wait.
func (n *node) queue(ctx context.Context, r *request) error {
	select {
	case n.requests <- r:
		return nil
	default:
	}
	select {
	case n.requests <- r:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failed records that a server, if one is known, was not usable. A server that left the cluster is forgotten.
func (s *Store) failed(n *node, err error) {
	if n == nil {
		return // the cluster is asked where the partition is
	}
	n.outage.began(s.uptime(), err)
	if !errors.Is(err, redis.ErrClosed) {
		return
	}
	s.closing.Lock()
	defer s.closing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[n.client] == n {
		delete(s.nodes, n.client)
		n.shut() // its senders may take a while
	}
}

// isClosed reports whether the store was closed.
func (s *Store) isClosed() bool {
	s.closing.RLock()
	defer s.closing.RUnlock()
	return s.closed
}

// errMixedUp is a reply that belongs to another request: the connection cannot be relied on.
var errMixedUp = errors.New("the reply belongs to another request")

// read checks the shape of an answer to a request, and keeps the highest seq of the partition.
func (s *Store) read(r *request, answered any) (reply, error) {
	head, ok := answered.(string)
	values, isArray := answered.([]any)
	if isArray && len(values) > 0 {
		head, ok = values[0].(string)
		values = values[1:]
	}
	code, rest, _ := strings.Cut(head, " ")
	moment, rest, _ := strings.Cut(rest, " ")
	writes, echoed, whole := strings.Cut(rest, " ")
	if !ok || !whole {
		return reply{}, fmt.Errorf("%v is not a reply of a script", answered)
	}
	if echoed != r.echo {
		return reply{}, errMixedUp
	}
	now, seq := number(moment), number(writes)
	for seen := s.seen[r.partition].Load(); seq > seen && code != string(store.RolledBack); seen = s.seen[r.partition].Load() {
		if s.seen[r.partition].CompareAndSwap(seen, seq) {
			break
		}
	}
	s.clocks[r.partition].observe(now, r.sent, r.answered)
	return reply{code: code, at: store.Moment(now), values: values}, nil
}

// refusal returns the error of a reply, if it is one.
func refusal(r reply, subject string) error {
	if r.code == "OK" {
		return nil
	}
	return &store.Refusal{Code: store.Code(r.code), Detail: subject, At: r.at}
}

// passes reports whether an error is likely to pass, so that the same operation is worth repeating
// (docs/engine.md).
func (s *Store) passes(ctx context.Context, err error) bool {
	if errors.Is(err, redis.ErrClosed) {
		return !s.isClosed() // otherwise the server has left the cluster
	}
	code := codeOf(err)
	if code == "" {
		return true // the connection broke
	}
	switch code {
	case "MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "MASTERDOWN":
		if s.cluster != nil {
			s.cluster.ReloadState(ctx)
		}
		return true
	case "LOADING", "UNBLOCKED", "BUSY", "NOSCRIPT":
		return true
	}
	return false // OOM, MISCONF, NOREPLICAS, NOAUTH, WRONGTYPE...: the caller waits longer, or gives up
}

// pause waits, longer after each failure.
func pause(ctx context.Context, failures int) {
	d := min(10*time.Millisecond<<min(failures, 8), 500*time.Millisecond)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
