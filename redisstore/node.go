package redisstore

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
)

// request is one run of a script on its way.
type request struct {
	ctx       context.Context // of who waits for it: what is queued after its end is not sent
	partition int
	s         *script
	args      []any // of EVALSHA
	reply     any
	err       error
	done      chan struct{}
}

// node is one Redis server. Requests that come while others are on their way share the next pipeline.
type node struct {
	client   *redis.Client
	spread   bool // one script may change several partitions
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
	// maxTogether is how many arguments and bytes the requests may have that one run of a script answers: it lets nobody
	// else in.
	maxTogether, maxTogetherBytes = 2000, 256 << 10
)

func newNode(client *redis.Client, spread bool, log *slog.Logger) *node {
	n := &node{client: client, spread: spread, requests: make(chan *request, 4*maxBatch)}
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
			n.answer(n.together(wanted))
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

// run is one run of a script on the server. It answers one request, or several of a script that takes several.
type run struct {
	requests []*request
	args     []any
	cmd      *redis.Cmd
}

// together returns the runs that answer the requests, as few as the server allows.
func (n *node) together(requests []*request) []*run {
	slices.SortFunc(requests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(flag(a.s.several), flag(b.s.several)), cmp.Compare(a.partition, b.partition))
	})
	runs := make([]*run, 0, len(requests))
	for len(requests) > 0 {
		k := n.fitting(requests)
		runs = append(runs, newRun(requests[:k]))
		requests = requests[k:]
	}
	return runs
}

// fitting returns how many of the requests, from the first on, one run may answer.
func (n *node) fitting(requests []*request) int {
	first, args, bytes := requests[0], 0, 0
	if !first.s.several {
		return 1
	}
	for k, r := range requests {
		args, bytes = args+len(r.args), bytes+sizeOf(r.args)
		if k > 0 && (!n.spread && r.partition != first.partition || args > maxTogether || bytes > maxTogetherBytes) {
			return k
		}
	}
	return len(requests)
}

func sizeOf(args []any) (bytes int) {
	for _, a := range args {
		switch a := a.(type) {
		case []byte:
			bytes += len(a)
		case string:
			bytes += len(a)
		}
	}
	return bytes
}

// newRun returns the run that answers requests: with the keys and arguments of all of them, one after the other.
func newRun(requests []*request) *run {
	if len(requests) == 1 {
		return &run{requests: requests, args: requests[0].args}
	}
	n, keys := 3, 0
	for _, r := range requests {
		n, keys = n+len(r.args)-3, keys+r.args[2].(int)
	}
	args := append(make([]any, 0, n), requests[0].args[0], requests[0].args[1], keys)
	for _, r := range requests {
		args = append(args, r.args[3:3+r.args[2].(int)]...)
	}
	for _, r := range requests {
		args = append(args, r.args[3+r.args[2].(int):]...)
	}
	return &run{requests: requests, args: args}
}

// answer sends runs, and gives each request its reply or error.
func (n *node) answer(runs []*run) {
	n.pipeline(runs)
	if forgotten := whole(runs); len(forgotten) > 0 {
		n.pipeline(forgotten)
	}
	var apart []*run
	for _, r := range runs {
		if r.deal() {
			continue
		}
		for _, alone := range r.requests { // one of them may have kept the others from being answered
			apart = append(apart, newRun([]*request{alone}))
		}
	}
	if len(apart) > 0 {
		n.answer(apart)
	}
}

// pipeline sends runs together; each has its own reply.
func (n *node) pipeline(runs []*run) {
	pipe := n.client.Pipeline()
	for _, r := range runs {
		r.cmd = pipe.Do(context.Background(), r.args...)
	}
	_, err := pipe.Exec(context.Background())
	for _, r := range runs {
		if err != nil && r.cmd.Err() == nil && r.cmd.Val() == nil { // it was not sent
			r.cmd.SetErr(err)
		}
	}
}

// whole returns the runs of scripts that the server has forgotten, with their scripts as a whole.
func whole(runs []*run) []*run {
	var forgotten []*run
	for _, r := range runs {
		if err := r.cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			r.args[0], r.args[1] = "eval", r.requests[0].s.source
			forgotten = append(forgotten, r)
		}
	}
	return forgotten
}

// deal gives the requests of a run what was answered. If it answered several with an error, or together, it reports false.
func (r *run) deal() bool {
	reply, err := r.cmd.Result()
	if len(r.requests) == 1 {
		r.requests[0].reply, r.requests[0].err = reply, err
		return true
	}
	var answered redis.Error
	if errors.As(err, &answered) {
		return false
	}
	all, _ := reply.([]any)
	if err == nil && len(all) != len(r.requests) {
		return false
	}
	for i, one := range r.requests {
		if one.err = err; err == nil {
			one.reply = all[i]
		}
	}
	return true
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
