package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime"
)

// request is one run of a script on its way.
type request struct {
	ctx   context.Context // of who waits for it: what is queued after its end is not sent
	args  []any           // of EVALSHA
	s     *script
	reply *redis.Cmd
	err   error
	done  chan struct{}
}

// node is one Redis server. Requests that come while others are on their way share the next pipeline.
type node struct {
	client   *redis.Client
	requests chan *request
	senders  sync.WaitGroup

	outage outage
	closed bool // no requests are taken any more; Store.closing guards it

	mu    sync.Mutex
	asked time.Duration // when the server was asked about its memory; 0 for never
	full  bool
}

const (
	senders  = 3   // pipelines of a node that may be on their way at once
	maxBatch = 128 // requests of a pipeline
)

func newNode(client *redis.Client, log *slog.Logger) *node {
	n := &node{client: client, requests: make(chan *request, 4*maxBatch)}
	n.outage.log = log.With("server", client.Options().Addr)
	for range senders {
		n.senders.Go(n.send)
	}
	return n
}

// send sends what has come together until requests is closed.
func (n *node) send() {
	batch, wanted := make([]*request, 0, maxBatch), make([]*request, 0, maxBatch)
	for first := range n.requests {
		batch = append(batch[:0], first)
	gather:
		for len(batch) < maxBatch {
			select {
			case r, ok := <-n.requests:
				if !ok {
					break gather
				}
				batch = append(batch, r)
			default:
				break gather
			}
		}
		if wanted = stillWanted(wanted[:0], batch); len(wanted) > 0 {
			n.pipeline(wanted, false)
			n.unknown(wanted)
		}
		for _, r := range batch {
			close(r.done)
		}
	}
}

// stillWanted appends the requests that somebody waits for. What nobody hears of must not happen late: an instance would
// be claimed for nobody.
func stillWanted(wanted, batch []*request) []*request {
	for _, r := range batch {
		if r.err = r.ctx.Err(); r.err == nil {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// pipeline sends a batch; each reply has its own error.
func (n *node) pipeline(batch []*request, whole bool) {
	pipe := n.client.Pipeline()
	for _, r := range batch {
		if whole {
			r.args[0], r.args[1] = "eval", r.s.source
		}
		r.reply = pipe.Do(context.Background(), r.args...)
	}
	_, err := pipe.Exec(context.Background())
	for _, r := range batch {
		r.err = r.reply.Err()
		if r.err == nil && err != nil && r.reply.Val() == nil {
			r.err = err
		}
	}
}

// unknown sends again, as a whole, the scripts that the server has forgotten.
func (n *node) unknown(batch []*request) {
	var again []*request
	for _, r := range batch {
		if r.err != nil && strings.HasPrefix(r.err.Error(), "NOSCRIPT") {
			again = append(again, r)
		}
	}
	if len(again) > 0 {
		n.pipeline(again, true)
	}
}

// askEvery is how old knowledge of a server's memory may be.
const askEvery = 5 * time.Second

// isFull reports whether the server's memory is to be left to what is under way.
func (n *node) isFull(ctx context.Context, now time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == 0 || now-n.asked > askEvery {
		n.asked = now
		facts, err := inspect(ctx, n.client)
		n.full = err == nil && facts.Used() > Full
	}
	return n.full
}

// shut ends the senders as soon as what was sent is answered.
func (n *node) shut() {
	n.closed = true
	close(n.requests)
}

// reply is what a script has answered.
type reply struct {
	code   string
	at     time.Time
	values []any
}

// call runs a script of a partition with keys and arguments.
func (s *Store) call(ctx context.Context, c *script, partition int, subject string, keys []any, args ...any) (reply, error) {
	return s.run(ctx, c, partition, subject, append(c.arguments(len(args), keys...), args...))
}

// run runs a script of a partition, and repeats the same operation while it is not answered for a reason that may pass.
// args begin with the script's arguments. Its error is a *runtime.Refusal, or leaves open whether the script has run.
func (s *Store) run(ctx context.Context, c *script, partition int, subject string, args []any) (reply, error) {
	for failures := 1; ; failures++ {
		n, err := s.node(ctx, partition)
		var r reply
		if err == nil {
			r, err = s.try(ctx, n, c, partition, args)
		}
		if err == nil {
			n.outage.ended(s.uptime)
			return r, refusal(r, subject)
		}
		if ctx.Err() != nil || !s.passes(ctx, err) {
			return reply{}, fmt.Errorf("%s %s: %w", c.name, subject, err)
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

func (s *Store) try(ctx context.Context, n *node, c *script, partition int, args []any) (reply, error) {
	echo := strconv.FormatUint(s.calls.Add(1), 36)
	sent := s.uptime()
	c.address(args, s.seen[partition].Load(), echo, s.clocks[partition].expected(sent))
	r := &request{ctx: ctx, args: args, s: c, done: make(chan struct{})}
	if err := s.send(ctx, n, r); err != nil {
		return reply{}, err
	}
	if r.err != nil {
		return reply{}, r.err
	}
	return s.read(r.reply, partition, echo, sent)
}

// send waits for the answer to a request, as long as ctx allows.
func (s *Store) send(ctx context.Context, n *node, r *request) error {
	s.closing.RLock()
	if s.closed || n.closed {
		s.closing.RUnlock()
		return redis.ErrClosed
	}
	select {
	case n.requests <- r:
		s.closing.RUnlock()
	case <-ctx.Done():
		s.closing.RUnlock()
		return context.Cause(ctx)
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failed takes in that a server, if one is known, was not to be worked with. One that has left the cluster is forgotten.
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

// look is the code of a commit whose record is another one than the owner knows.
const look = "LOOK"

// read checks the shape of a reply to what was sent, and keeps the highest seq of the partition.
func (s *Store) read(cmd *redis.Cmd, partition int, echo string, sent time.Duration) (reply, error) {
	head, ok := cmd.Val().(string)
	values, isArray := cmd.Val().([]any)
	if isArray && len(values) > 0 {
		head, ok = values[0].(string)
		values = values[1:]
	}
	code, rest, _ := strings.Cut(head, " ")
	moment, rest, _ := strings.Cut(rest, " ")
	writes, echoed, whole := strings.Cut(rest, " ")
	if !ok || !whole {
		return reply{}, fmt.Errorf("%v is no reply of a script", cmd.Val())
	}
	if echoed != echo {
		return reply{}, errMixedUp
	}
	now, seq := number(moment), number(writes)
	for seen := s.seen[partition].Load(); seq > seen && code != string(runtime.RolledBack); seen = s.seen[partition].Load() {
		if s.seen[partition].CompareAndSwap(seen, seq) {
			break
		}
	}
	s.clocks[partition].hear(now, sent, s.uptime())
	return reply{code: code, at: runtime.Moment(now), values: values}, nil
}

// refusal returns the error of a reply, if it is one.
func refusal(r reply, subject string) error {
	switch r.code {
	case "OK", "OK_DUP", look:
		return nil
	}
	return &runtime.Refusal{Code: runtime.Code(r.code), Detail: subject, At: r.at}
}

// passes reports whether an error is likely to pass, so that the same operation is worth repeating
// (reliability.md 3.2).
func (s *Store) passes(ctx context.Context, err error) bool {
	if errors.Is(err, redis.ErrClosed) {
		return !s.isClosed() // otherwise the server has left the cluster
	}
	var answered redis.Error
	if !errors.As(err, &answered) {
		return true // the connection broke
	}
	code, _, _ := strings.Cut(answered.Error(), " ")
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

func integer(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		return number(v)
	}
	return 0
}

// number reads what a script has written.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // what is none counts as 0
	return n
}
