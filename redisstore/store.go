package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Store is a store.Store on Redis.
type Store struct {
	client  redis.UniversalClient
	cluster *redis.ClusterClient // nil for one server
	layout  store.Layout
	keys    keys
	scripts scripts
	calls   atomic.Uint64
	seen    []atomic.Int64 // highest seq of each partition
	clocks  []clock        // of each partition
	uptime  func() time.Duration
	works   bool
	frames  frameFields
	log     *slog.Logger
	known   knowledge

	mu      sync.Mutex
	nodes   map[*redis.Client]*node
	closing sync.RWMutex
	closed  bool
}

var _ store.Store = (*Store)(nil)

// closeWithin is how long what is on its way may take when the store is closed.
const closeWithin = time.Second

// Close lets go of all connections. What is on its way is answered before, unless the server is silent.
func (s *Store) Close() error {
	s.closing.Lock()
	closed := s.closed
	s.closed = true
	s.closing.Unlock()
	if closed {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hurry := time.AfterFunc(closeWithin, func() { s.client.Close() }) // then nothing is waited for any more
	defer hurry.Stop()
	for _, n := range s.nodes {
		n.shut()
		n.senders.Wait()
	}
	if err := s.client.Close(); !errors.Is(err, redis.ErrClosed) {
		return err
	}
	return nil
}

// server returns the server that holds a partition.
func (s *Store) server(ctx context.Context, partition int) (*redis.Client, error) {
	if s.cluster == nil {
		return s.client.(*redis.Client), nil
	}
	return s.cluster.MasterForKey(ctx, s.keys.partitions[partition].time)
}

func (s *Store) node(ctx context.Context, partition int) (*node, error) {
	client, err := s.server(ctx, partition)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[client]
	if n == nil {
		n = s.newNode(client)
		s.nodes[client] = n
	}
	return n, nil
}

// of returns the partition of an instance, and its keys.
func (s *Store) of(i store.Instance) (int, *partitionKeys) {
	p := i.Partition(s.layout.Partitions)
	return p, &s.keys.partitions[p]
}

// hint is what a script publishes about a partition.
func hint(partition int) string { return strconv.Itoa(partition) }

// mailHint is what a script publishes when an instance gets a message.
func mailHint(partition int, i store.Instance) string {
	return strconv.Itoa(partition) + " " + i.String()
}

// Start implements store.Store.
func (s *Store) Start(ctx context.Context, c store.Start) (store.Started, error) {
	if err := c.Instance.Check(); err != nil {
		return store.Started{}, err
	}
	n, k := s.of(c.Instance)
	if err := s.room(ctx, n, c.Instance); err != nil {
		return store.Started{}, err
	}
	r, err := s.call(ctx, &s.scripts.start, n, "instance "+c.Instance.String(),
		[]any{k.time, k.ready, k.due, k.index, k.instance(c.Instance), k.meta, k.family(c.Family)},
		s.keys.hints(), hint(n), c.Instance.String(), c.Invocation, c.Delay.Milliseconds(), store.Millis(c.Deadline), c.Timeout.Milliseconds(), flag(c.Urgent), c.FamilyMax)
	return store.Started{Again: r.code == "OK_DUP", At: r.at}, err
}

// room refuses a new instance if the server's memory is nearly full; one that is there is none.
func (s *Store) room(ctx context.Context, partition int, i store.Instance) error {
	n, err := s.node(ctx, partition)
	if err != nil || !n.isFull(ctx, s.uptime()) {
		return err
	}
	there, err := n.client.Exists(ctx, s.keys.partitions[partition].instance(i)).Result()
	if err == nil && there == 0 {
		err = &store.Refusal{Code: store.Limit, Detail: fmt.Sprintf("instance %s: more than %.0f %% of the server's memory is used", i, 100*Full)}
	}
	return err
}

// Claim implements store.Store.
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	k := &s.keys.partitions[c.Partition]
	keys := []any{k.time, k.ready, k.due}
	args := []any{s.keys.hints(), hint(c.Partition), c.Nonce, c.Lease.Milliseconds()}
	for _, i := range c.Instances {
		keys = append(keys, k.instance(i), k.inbox(i))
		args = append(args, i.String())
	}
	subject := fmt.Sprintf("%d instances", len(c.Instances))
	r, err := s.call(ctx, &s.scripts.claim, c.Partition, subject, keys, args...)
	if codeOf(err) == outOfMemory { // deadlines and cancels hold all the same
		var begun reply
		if begun, err = s.begunOnly(ctx, c.Partition, subject, keys, args, err); err == nil {
			r = begun
		}
	}
	if err != nil {
		return nil, err
	}
	claimed, err := readClaimed(r)
	s.known.claimed(claimed, k)
	return claimed, err
}

// outOfMemory is what servers say whose memory is full.
const outOfMemory = "OOM"

// begunOnly claims what does not wait for room, from a server whose memory is full. If there is nothing of that kind, the
// error is that the memory is full.
func (s *Store) begunOnly(ctx context.Context, partition int, subject string, keys, args []any, full error) (reply, error) {
	r, err := s.call(ctx, &s.scripts.claimBegun, partition, subject, keys, args...)
	if err != nil {
		return r, err
	}
	if claimed, ok := r.values[0].([]any); !ok || len(claimed) == 0 {
		return r, full
	}
	return r, nil
}

func readClaimed(r reply) ([]store.Claimed, error) {
	all, _ := r.values[0].([]any)
	claimed := make([]store.Claimed, 0, len(all))
	for _, v := range all {
		entry, ok := v.([]any)
		if !ok || len(entry) != 3 {
			return nil, fmt.Errorf("%v is no claimed instance", v)
		}
		fields, _ := entry[1].([]any)
		l, err := readLoaded(fields)
		if err != nil {
			continue // it is left to its lease, and put aside if this goes on; the others are well
		}
		c := store.Claimed{
			Instance: instanceOf(fmt.Sprint(entry[0])), Token: store.Token{Epoch: l.Lifecycle.Epoch, Nonce: l.Lifecycle.Nonce},
			Loaded: l, At: r.at,
		}
		messages, _ := entry[2].([]any)
		for _, m := range messages {
			c.Inbox = append(c.Inbox, store.Message(fmt.Sprint(m)))
		}
		claimed = append(claimed, c)
	}
	return claimed, nil
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	i := c.Instance
	n, k := s.of(i)
	if known, ok := s.known.of(&c); ok {
		r, err := s.repeat(ctx, &s.scripts.commits, n, known.subject, s.knownArgs(&c, k, &known))
		if err != nil {
			s.known.forget(i)
			return store.Committed{At: r.at}, err
		}
		if r.code != look {
			s.known.assumed(&c, &known)
			return store.Committed{At: r.at}, nil
		}
	}
	r, err := s.call(ctx, &s.scripts.commit, n, "instance "+i.String(),
		[]any{k.time, k.instance(i), k.history(i), k.ready, k.due, k.closed, k.outbox, k.inbox(i), k.payloads(i)}, s.commitArgs(n, &c)...)
	if err != nil {
		s.known.forget(i)
		return store.Committed{At: r.at}, err
	}
	s.known.committed(&c, k, r)
	return store.Committed{At: r.at, Mail: integer(r.values[0]) == 1}, nil
}

// knownArgs are the arguments of a commit whose record is known.
func (s *Store) knownArgs(c *store.Commit, k *partitionKeys, known *known) []any {
	sets := setCount(c)
	keys := append(make([]any, 0, 5), k.timeKey, known.instance, known.history)
	if known.moves() {
		keys = append(keys, k.of(known.from), k.of(known.to))
	}
	args := s.scripts.commits.arguments(12+sets+len(c.Changes.Ended)+len(c.Entries), keys...)
	args = append(args, known.text, known.becomes, known.guard, c.At.UnixMilli(), known.stamp, flag(known.moves()), sets, len(c.Changes.Ended), len(c.Entries))
	if known.moves() {
		args = append(args, known.rest, c.Instance.String(), known.score)
	}
	return s.appendChanges(args, c)
}

// commitArgs are the arguments of a commit whose record is looked into.
func (s *Store) commitArgs(partition int, c *store.Commit) []any {
	reason := c.Reason
	if reason == "" {
		reason = "-"
	}
	sets := setCount(c)
	args := make([]any, 0, 22+sets+len(c.Changes.Ended)+len(c.Entries)+len(c.Outbox)+2*len(c.Payloads))
	args = append(args, s.keys.hints(), hint(partition), c.Instance.String(), c.Token.Epoch, c.Token.Nonce, c.Version, c.Next,
		c.At.UnixMilli(), store.Millis(c.Guard), string(c.Status), reason, store.Millis(c.Wake), store.Millis(c.Deadline), flag(c.Release),
		flag(c.Ready), c.Read, c.Records, sets, len(c.Changes.Ended), len(c.Entries), len(c.Outbox), 2*len(c.Payloads))
	args = s.appendChanges(args, c)
	for _, o := range c.Outbox {
		args = append(args, o)
	}
	for ref, data := range c.Payloads {
		args = append(args, ref, data)
	}
	return args
}

// setCount returns how many arguments the fields and values to set are.
func setCount(c *store.Commit) int {
	n := 2 * len(c.Changes.Frames)
	if c.Changes.Head != nil {
		n += 2
	}
	if c.Changes.Context != nil {
		n += 2
	}
	return n
}

// appendChanges appends the fields and values to set, the fields to delete, and the entries of history.
func (s *Store) appendChanges(args []any, c *store.Commit) []any {
	if c.Changes.Head != nil {
		args = append(args, fieldHead, c.Changes.Head)
	}
	if c.Changes.Context != nil {
		args = append(args, fieldContext, c.Changes.Context)
	}
	for _, f := range c.Changes.Frames {
		args = append(args, s.frames.field(f.Key), f.Data)
	}
	for _, slot := range c.Changes.Ended {
		args = append(args, s.frames.field(slot))
	}
	for _, e := range c.Entries {
		args = append(args, e)
	}
	return args
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Renew implements store.Store.
func (s *Store) Renew(ctx context.Context, c store.Renew) ([]store.Renewed, error) {
	k := &s.keys.partitions[c.Partition]
	keys := []any{k.time, k.ready, k.due}
	args := []any{s.keys.hints(), hint(c.Partition), c.Lease.Milliseconds()}
	for _, h := range c.Held {
		keys = append(keys, k.instance(h.Instance))
		args = append(args, h.Instance.String(), h.Token.Epoch, h.Token.Nonce)
	}
	r, err := s.call(ctx, &s.scripts.renew, c.Partition, fmt.Sprintf("%d leases", len(c.Held)), keys, args...)
	if err != nil {
		return nil, err
	}
	all, _ := r.values[0].([]any)
	renewed := make([]store.Renewed, 0, len(all))
	for _, v := range all {
		entry, ok := v.([]any)
		if !ok || len(entry) != 2 {
			return nil, fmt.Errorf("%v is no renewed lease", v)
		}
		renewed = append(renewed, store.Renewed{Instance: instanceOf(fmt.Sprint(entry[0])), Mail: integer(entry[1]) == 1, At: r.at})
	}
	return renewed, nil
}

// Promote implements store.Store.
func (s *Store) Promote(ctx context.Context, c store.Promote) (store.Promoted, error) {
	k := &s.keys.partitions[c.Partition]
	keys := []any{k.time, k.ready, k.due}
	args := []any{s.keys.hints(), hint(c.Partition)}
	for _, i := range c.Instances {
		keys = append(keys, k.instance(i))
		args = append(args, i.String())
	}
	r, err := s.call(ctx, &s.scripts.promote, c.Partition, fmt.Sprintf("%d instances", len(c.Instances)), keys, args...)
	if err != nil {
		return store.Promoted{}, err
	}
	if len(r.values) != 2 {
		return store.Promoted{}, fmt.Errorf("%v is no answer of promote", r.values)
	}
	return store.Promoted{Ready: int(integer(r.values[0])), At: r.at, Next: store.Moment(integer(r.values[1]))}, nil
}

// Deliver implements store.Store.
func (s *Store) Deliver(ctx context.Context, d store.Delivery) error {
	n, k := s.of(d.To)
	_, err := s.call(ctx, &s.scripts.deliver, n, "instance "+d.To.String(),
		[]any{k.time, k.ready, k.due, k.seenKeys, k.instance(d.To), k.inbox(d.To)},
		s.keys.hints(), mailHint(n, d.To), d.To.String(), d.ID, []byte(d.Message))
	return err
}

// Command implements store.Store.
func (s *Store) Command(ctx context.Context, c store.Command) error {
	n, k := s.of(c.To)
	script := &s.scripts.command
	if c.Verb == store.VerbCancel || c.Verb == store.VerbTerminate { // they make room
		script = &s.scripts.commandEnd
	}
	_, err := s.call(ctx, script, n, "instance "+c.To.String(),
		[]any{k.time, k.ready, k.due, k.seenKeys, k.instance(c.To), k.inbox(c.To)},
		s.keys.hints(), mailHint(n, c.To), c.To.String(), c.ID, string(c.Verb), []byte(c.Message))
	return err
}

// Relay implements store.Store.
func (s *Store) Relay(ctx context.Context, partition int, entries []string) error {
	k := &s.keys.partitions[partition]
	args := make([]any, len(entries))
	for n, id := range entries {
		args[n] = entryID(id)
	}
	if len(args) == 0 {
		return nil
	}
	_, err := s.call(ctx, &s.scripts.relay, partition, "outbox", []any{k.time, k.outbox}, args...)
	return err
}

// Scrub implements store.Store.
func (s *Store) Scrub(ctx context.Context, c store.Scrub) (store.Scrubbed, error) {
	slots, cursor, err := s.scan(ctx, c.Partition, c.Cursor, c.N)
	if err != nil {
		return store.Scrubbed{}, err
	}
	k := &s.keys.partitions[c.Partition]
	keys := []any{k.time, k.ready, k.due, k.closed, k.seenKeys, k.index, k.meta}
	args := []any{s.keys.hints(), hint(c.Partition), flag(c.Adopt) + flag(c.Adopt && c.Loss), rand.Uint64()}
	for _, at := range slots {
		keys = append(keys, k.instance(at.instance))
		args = append(args, at.instance.String(), at.id)
	}
	r, err := s.call(ctx, &s.scripts.scrub, c.Partition, "partition", keys, args...)
	if err != nil {
		return store.Scrubbed{}, err
	}
	done := store.Scrubbed{Cursor: cursor, Compared: len(slots)}
	all, _ := r.values[0].([]any)
	for _, v := range all {
		done.Repaired = append(done.Repaired, fmt.Sprint(v))
	}
	done.Adopted = len(r.values) > 1 && integer(r.values[1]) == 1
	return done, nil
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, c store.Remove) (int, error) {
	k := &s.keys.partitions[c.Partition]
	keys := []any{k.time, k.closed, k.index}
	args := []any{s.keys.hints(), hint(c.Partition), c.Age.Milliseconds()}
	for _, i := range c.Instances {
		keys = append(keys, k.instance(i), k.history(i), k.inbox(i), k.payloads(i))
		args = append(args, i.String())
	}
	r, err := s.call(ctx, &s.scripts.remove, c.Partition, fmt.Sprintf("%d instances", len(c.Instances)), keys, args...)
	if err != nil {
		return 0, err
	}
	return int(integer(r.values[0])), nil
}

// Define implements store.Catalog.
func (s *Store) Define(ctx context.Context, key string, data []byte) error {
	kept, err := s.client.HGet(ctx, s.keys.definitions(), key).Bytes() // first, since a server that is full takes no writes
	if errors.Is(err, redis.Nil) {
		created, err := s.client.HSetNX(ctx, s.keys.definitions(), key, data).Result()
		if err != nil || created {
			return err
		}
		kept, err = s.client.HGet(ctx, s.keys.definitions(), key).Bytes() // another process was faster
		if err != nil {
			return err
		}
	}
	if err == nil && string(kept) != string(data) {
		err = &store.Refusal{Code: store.Conflict, Detail: "definition " + key}
	}
	return err
}

// Layout implements store.Reader.
func (s *Store) Layout() store.Layout { return s.layout }

// fix writes the layout of a new deployment, or checks that of one that is there.
func (s *Store) fix(ctx context.Context) error {
	text, err := s.client.Get(ctx, s.keys.layout()).Bytes() // first, since a server that is full takes no writes
	if errors.Is(err, redis.Nil) {
		var data []byte
		if data, err = json.Marshal(s.layout); err != nil {
			return err
		}
		created, err := s.client.SetNX(ctx, s.keys.layout(), data, 0).Result()
		if err != nil || created {
			return err
		}
		text, err = s.client.Get(ctx, s.keys.layout()).Bytes() // another process was faster
		if err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	var kept store.Layout
	if err := json.Unmarshal(text, &kept); err != nil {
		return fmt.Errorf("read the layout of the deployment %s: %w", s.layout.Deployment, err)
	}
	return s.layout.Check(kept)
}
