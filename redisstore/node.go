package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
)

// request is one caller's request of a script, or of plain commands.
type request struct {
	unwanted <-chan struct{} // closed when the caller no longer waits: a queued request is then not sent
	commands []redis.Cmder   // instead of a script; the following fields concern scripts, except err and done
	*call
	echo  string
	stage atomic.Int32 // see the stages

	sent, answered time.Duration // by this machine's uptime
	seen, expected any           // see scripts/clock.lua
	whole          bool          // the server does not know the script
	alone          bool          // it is not to share a run
	replies        []any
	first          [1]reply // room for the replies: most requests get one
	err            error
	done           chan struct{}
}

// The stages of a request. A request that is abandoned while it waits is never sent.
const (
	stageWaits int32 = iota
	stageSent
	stageAbandoned
)

// node is one Redis server. Requests that come while others are on their way share the next pipeline.
type node struct {
	client   *redis.Client
	complete func([]*request) // completes the arguments of requests that are about to be sent
	uptime   func() time.Duration
	spread   atomic.Bool // one run of a script may change several partitions
	requests chan *request
	senders  sync.WaitGroup

	outage outage
	closed bool // no requests are taken any more; Store.closing guards it

	mu    sync.Mutex
	asked time.Duration // when the server was asked about its memory; 0 for never
	full  bool
}

const (
	senders  = 2   // maximum number of concurrent pipelines of a node: with more, each contains fewer requests
	maxBatch = 128 // requests of a pipeline
	// maxRunArguments and maxRunBytes limit the arguments of one run of a script, which blocks the server.
	maxRunArguments, maxRunBytes = 2000, 256 << 10
)

func (s *Store) newNode(client *redis.Client) *node {
	n := &node{client: client, complete: s.complete, uptime: s.uptime, requests: make(chan *request, 4*maxBatch)}
	n.spread.Store(s.cluster == nil)
	n.outage.log = s.log.With("server", client.Options().Addr)
	for range senders {
		n.senders.Go(n.send)
	}
	return n
}

// send sends requests until the channel is closed, all pending ones in one pipeline.
func (n *node) send() {
	batch, args := make([]*request, 0, maxBatch), make([]any, 0, 2*maxRunArguments)
	for first := range n.requests {
		batch = append(batch[:0], first)
		runtime.Gosched() // includes callers that are about to ask
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
		n.answer(batch, args)
		answered := n.uptime()
		for _, r := range batch {
			r.answered = answered
			close(r.done)
		}
		clear(batch) // requests may be large
	}
}

// answer sends requests, some of them repeatedly in another way, until each has its reply or error. args is a buffer for the arguments.
func (n *node) answer(requests []*request, args []any) {
	for len(requests) > 0 {
		scripts, plain := divided(stillWanted(requests))
		runs := n.runsFor(scripts, args)
		n.pipeline(runs, plain)
		requests = nil
		for _, r := range runs {
			clear(r.args) // values may be large, and args stays
			if !n.distribute(r) {
				requests = append(requests, r.requests...)
			}
		}
	}
}

// divided returns the requests of scripts and the requests of plain commands.
func divided(requests []*request) (scripts, plain []*request) {
	for _, r := range requests {
		if r.call == nil {
			plain = append(plain, r)
		}
	}
	return slices.DeleteFunc(requests, func(r *request) bool { return r.call == nil }), plain
}

// stillWanted returns the requests whose callers still wait. Abandoned requests must not be sent late: a run would be claimed without a
// worker.
func stillWanted(requests []*request) []*request {
	wanted := make([]*request, 0, len(requests))
	for _, r := range requests {
		select {
		case <-r.unwanted:
			r.err = context.Canceled // which has no reader
		default:
			if r.stage.CompareAndSwap(stageWaits, stageSent) || r.stage.Load() == stageSent {
				wanted = append(wanted, r)
			}
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

// runsFor returns the runs that answer the requests: neighbours share one if they may. Their arguments are appended to args.
func (n *node) runsFor(requests []*request, args []any) []*run {
	slices.SortFunc(requests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.script.sha, b.script.sha), cmp.Compare(a.partition, b.partition))
	})
	n.complete(requests)
	runs := make([]*run, 0, len(requests))
	for len(requests) > 0 {
		k := n.fitting(requests)
		one := newRun(requests[:k], args)
		runs, args = append(runs, one), one.args[len(one.args):]
		requests = requests[k:]
	}
	return runs
}

// fitting returns how many of the requests, from the first on, one run may answer.
func (n *node) fitting(requests []*request) int {
	first, args, bytes := requests[0], 0, 0
	if !first.script.several || first.alone {
		return 1
	}
	spread := n.spread.Load()
	for k, r := range requests {
		args, bytes = args+r.size(), bytes+sizeOf(r.args)
		differs := r.script != first.script || r.whole != first.whole || r.alone || !spread && r.partition != first.partition
		if k > 0 && (differs || args > maxRunArguments || bytes > maxRunBytes) {
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

// argsOfClock is how many arguments scripts/clock.lua asks for.
const argsOfClock = 3

// newRun returns the run of a script that answers requests. The keys and arguments of all of them are appended, in order, to the empty
// buffer args.
func newRun(requests []*request, args []any) *run {
	first := requests[0]
	command, named := "evalsha", first.script.sha
	if first.whole {
		command, named = "eval", first.script.source
	}
	keys := 0
	for _, r := range requests {
		keys += len(r.keys)
	}
	args = append(args, command, named, keys)
	for _, r := range requests {
		args = append(args, r.keys...)
	}
	for _, r := range requests {
		args = append(append(args, r.seen, r.echo, r.expected), r.args...)
	}
	return &run{requests: requests, args: args}
}

// size returns how many keys and arguments the request adds to a run.
func (r *request) size() int { return len(r.keys) + argsOfClock + len(r.args) }

// pipeline sends runs and plain commands in one pipeline; each has its own reply.
func (n *node) pipeline(runs []*run, plain []*request) {
	pipe := n.client.Pipeline()
	for _, r := range plain {
		pipe.BatchProcess(context.Background(), r.commands...)
	}
	for _, r := range runs {
		r.cmd = pipe.Do(context.Background(), r.args...)
	}
	answered := n.outage.awaits(n.uptime)
	_, err := pipe.Exec(context.Background())
	answered()
	for _, r := range runs {
		if err != nil && r.cmd.Err() == nil && r.cmd.Val() == nil { // it was not sent
			r.cmd.SetErr(err)
		}
	}
	if err == nil || codeOf(err) != "" {
		return
	}
	for _, r := range plain { // the connection broke: which of them were answered is not known
		r.err = err
	}
}

// distribute passes the answers of a run to its requests. It reports false if they must be sent again, in another way.
func (n *node) distribute(r *run) bool {
	reply, err := r.cmd.Result()
	all, _ := reply.([]any)
	first, last := r.requests[0], r.requests[len(r.requests)-1]
	several := first != last
	switch {
	case codeOf(err) == "NOSCRIPT" && !first.whole:
		for _, one := range r.requests {
			one.whole = true
		}
		return false
	case codeOf(err) == "CROSSSLOT" && first.partition != last.partition: // the server is part of a cluster
		n.spread.Store(false)
		return false
	case several && (isOfScript(err) || err == nil && len(all) != r.answers()):
		for _, one := range r.requests { // one of them may have kept the others from being answered
			one.alone, one.whole = true, false
		}
		return false
	case first.script.several && err == nil && len(all) != r.answers():
		err = fmt.Errorf("%v is not a reply of %s", reply, first.script.name)
	}
	if !first.script.several {
		all = []any{reply}
	}
	for _, one := range r.requests {
		if one.err = err; err == nil {
			one.replies, all = all[:one.answers], all[one.answers:]
		}
	}
	return true
}

// answers returns how many answers the run gets.
func (r *run) answers() (n int) {
	for _, one := range r.requests {
		n += one.answers
	}
	return n
}

// codeOf returns the code at the beginning of a server's error; empty for other errors.
func codeOf(err error) string {
	var answered redis.Error
	if !errors.As(err, &answered) {
		return ""
	}
	code, _, _ := strings.Cut(answered.Error(), " ")
	return code
}

// isOfScript reports whether an error ended a script that had started: the error then contains the position.
func isOfScript(err error) bool {
	return codeOf(err) != "" && strings.Contains(err.Error(), "@user_script")
}

// askEvery is how old knowledge of a server's memory may be.
const askEvery = 5 * time.Second

// isFull reports whether the server's memory is reserved for runs in progress. If the server does not answer now, the last known state
// counts.
func (n *node) isFull(ctx context.Context, now time.Duration) bool {
	n.mu.Lock()
	full, known := n.full, n.asked != 0 && now-n.asked <= askEvery
	n.mu.Unlock()
	if known {
		return full
	}
	facts, err := inspect(ctx, n.client)
	if err != nil {
		return full
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.full, n.asked = facts.Used() > Full, now
	return n.full
}

// shut ends the senders when the requests in flight are answered.
func (n *node) shut() {
	n.closed = true
	close(n.requests)
}
