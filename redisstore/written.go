package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

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
			n.outage.answered(s.uptime)
			return all, nil
		}
		if ctx.Err() != nil || !s.passes(ctx, err) {
			return nil, fmt.Errorf("read the writes: %w", err)
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

// written also returns the server that was asked last.
func (s *Store) written(ctx context.Context) (all []store.Written, last *node, err error) {
	partitions := make([]int, s.layout.Partitions)
	for p := range partitions {
		partitions[p] = p
	}
	servers, err := s.servers(ctx, partitions)
	if err != nil {
		return nil, nil, err
	}
	all = make([]store.Written, s.layout.Partitions)
	for n, partitions := range servers {
		last = n
		for some := range slices.Chunk(partitions, maxKeys/2) {
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
	server, times, leases, err := s.times(ctx, n, partitions)
	if err != nil {
		return err
	}
	answered := s.uptime()
	var confirmed []int
	for i, p := range partitions {
		at, clock := newReading(server, times[i]), &s.clocks[p]
		if clock.jumped(at, sent, answered) != 0 || at.wentBack() || at.seq < seen[i] {
			all[p].Writes = -1 // Poll sets it right, or reports it
			continue
		}
		if clock.confirms(at, sent) {
			confirmed = append(confirmed, p)
		}
		clock.observe(at.now(), sent, answered)
		all[p] = store.Written{Writes: at.seq, At: store.Moment(at.now()), Lease: firstLease(leases[i])}
	}
	if err := s.confirm(ctx, n, confirmed); !refusesWrites(err) {
		return err
	}
	return nil // a replica can still be read
}

// times returns a server's time, and the keys of the times and leases of some of its partitions.
func (s *Store) times(ctx context.Context, n *node, partitions []int) (server int64, times []any, leases []string, err error) {
	pipe := n.client.Pipeline()
	now := pipe.Time(ctx)
	var keys []string
	for _, p := range partitions {
		keys = append(keys, s.keys.partitions[p].time, s.keys.partitions[p].leases)
	}
	size := len(keys)
	if !n.spread.Load() {
		size = 2
	}
	var answers []*redis.SliceCmd
	for some := range slices.Chunk(keys, size) {
		answers = append(answers, pipe.MGet(ctx, some...))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if codeOf(err) == "CROSSSLOT" { // the server is part of a cluster
			n.spread.Store(false)
			return s.times(ctx, n, partitions)
		}
		return 0, nil, nil, err
	}
	for _, one := range answers {
		for n := 0; n < len(one.Val()); n += 2 {
			text, _ := one.Val()[n+1].(string)
			times, leases = append(times, one.Val()[n]), append(leases, text)
		}
	}
	return now.Val().UnixMilli(), times, leases, nil
}

// confirm records the continuity of time in some partitions of a server.
func (s *Store) confirm(ctx context.Context, n *node, partitions []int) error {
	if len(partitions) == 0 {
		return nil
	}
	if !n.spread.Load() {
		for _, p := range partitions {
			if err := s.correct(ctx, p, 0, 0); err != nil {
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
	_, err := s.call(ctx, call{script: &s.scripts.confirm, partition: partitions[0], subject: "the clock", keys: keys, args: args, forReading: true})
	return err
}

// correct corrects a partition's time after the server's clock jumped by off milliseconds, if the offset is the one that was seen, and
// records the time.
func (s *Store) correct(ctx context.Context, partition int, off, offset int64) error {
	_, err := s.call(ctx, call{
		script: &s.scripts.correct, partition: partition, subject: "the clock", keys: []any{s.keys.partitions[partition].time}, args: []any{off, offset},
		forReading: true,
	})
	return err
}
