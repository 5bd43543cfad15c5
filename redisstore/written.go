package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// maxKeys is how many keys one command reads or writes.
const maxKeys = 500

// Written implements store.Reader. One server is asked with two commands, whatever the number of partitions; in a
// Cluster each partition takes one.
func (s *Store) Written(ctx context.Context) ([]store.Written, error) {
	for failures := 1; ; failures++ {
		all, n, err := s.written(ctx)
		if err == nil {
			n.outage.ended(s.uptime)
			return all, nil
		}
		if ctx.Err() != nil || !s.passes(ctx, err) {
			return nil, fmt.Errorf("ask what was written: %w", err)
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

// written also returns the server that was asked last.
func (s *Store) written(ctx context.Context) (all []store.Written, last *node, err error) {
	var servers []*node
	of := map[*node][]int{}
	for p := range s.layout.Partitions {
		n, err := s.node(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		if of[n] == nil {
			servers = append(servers, n)
		}
		of[n] = append(of[n], p)
	}
	all = make([]store.Written, s.layout.Partitions)
	for _, last = range servers {
		for some := range slices.Chunk(of[last], maxKeys) {
			if err := s.writtenAt(ctx, last, some, all); err != nil {
				return nil, last, err
			}
		}
	}
	return all, last, nil
}

// writtenAt asks one server about some of its partitions.
func (s *Store) writtenAt(ctx context.Context, n *node, partitions []int, all []store.Written) error {
	seen := make([]int64, len(partitions)) // before it is asked
	for i, p := range partitions {
		seen[i] = s.seen[p].Load()
	}
	sent := s.uptime()
	server, times, err := s.times(ctx, n, partitions)
	if err != nil {
		return err
	}
	heard := s.uptime()
	var vouched []int
	for i, p := range partitions {
		at, clock := newReading(server, times[i]), &s.clocks[p]
		if clock.jumped(at, sent, heard) != 0 || at.fell() || at.seq < seen[i] {
			all[p].Writes = -1 // Poll sets it right, or tells
			continue
		}
		if clock.vouches(at, sent) {
			vouched = append(vouched, p)
		}
		clock.hear(at.now(), sent, heard)
		all[p] = store.Written{Writes: at.seq, At: store.Moment(at.now())}
	}
	return s.vouch(ctx, n, vouched)
}

// times returns a server's time, and what the keys of some of its partitions say.
func (s *Store) times(ctx context.Context, n *node, partitions []int) (server int64, times []any, err error) {
	keys := make([]string, len(partitions))
	for i, p := range partitions {
		keys[i] = s.keys.partitions[p].time
	}
	pipe := n.client.Pipeline()
	now := pipe.Time(ctx)
	if n.spread.Load() {
		together := pipe.MGet(ctx, keys...)
		_, err := pipe.Exec(ctx)
		if codeOf(err) == "CROSSSLOT" { // the server is part of a cluster
			n.spread.Store(false)
			return s.times(ctx, n, partitions)
		}
		return now.Val().UnixMilli(), together.Val(), err
	}
	each := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		each[i] = pipe.Get(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return 0, nil, err
	}
	for _, one := range each {
		times = append(times, one.Val())
	}
	return now.Val().UnixMilli(), times, nil
}

// vouch notes that time goes on as expected in some partitions of a server.
func (s *Store) vouch(ctx context.Context, n *node, partitions []int) error {
	if len(partitions) == 0 {
		return nil
	}
	if !n.spread.Load() {
		for _, p := range partitions {
			if _, err := s.call(ctx, &s.scripts.hold, p, "the clock", []any{s.keys.partitions[p].time}, 0, 0); err != nil {
				return err
			}
		}
		return nil
	}
	now := s.uptime()
	keys, args := make([]any, len(partitions)), make([]any, len(partitions))
	for i, p := range partitions {
		keys[i], args[i] = s.keys.partitions[p].time, s.clocks[p].expected(now)
	}
	_, err := s.call(ctx, &s.scripts.vouch, partitions[0], "the clock", keys, args...)
	return err
}

// Drift implements store.Reader.
func (s *Store) Drift(ctx context.Context, c store.Drift) (store.Drifted, error) {
	k := &s.keys.partitions[c.Partition]
	r, err := s.call(ctx, &s.scripts.drift, c.Partition, "partition", []any{k.time, k.ready, k.due, k.closed, k.index},
		s.keys.hints(), hint(c.Partition), c.Compared, c.N, k.instances())
	if err != nil {
		return store.Drifted{}, err
	}
	if len(r.values) != 2 {
		return store.Drifted{}, fmt.Errorf("%v is no answer of drift", r.values)
	}
	return store.Drifted{Wrong: int(integer(r.values[0])), Compared: int(integer(r.values[1]))}, nil
}
