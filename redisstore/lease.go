package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// parseLeases reads until when the leases of workers last, as scripts/apply.lua keeps them: a worker, and a time in ms.
func parseLeases(text string) map[string]time.Time {
	words := strings.Fields(text)
	all := make(map[string]time.Time, len(words)/2)
	for n := 0; n+1 < len(words); n += 2 {
		all[words[n]] = store.Moment(number(words[n+1]))
	}
	return all
}

// firstLease returns when the first lease ends; zero without leases.
func firstLease(text string) (first time.Time) {
	for _, at := range parseLeases(text) {
		first = interpreter.Earlier(first, at)
	}
	return first
}

// Renew implements store.Store. One server is asked with one script, whatever the number of partitions; in a Cluster each
// partition takes one.
func (s *Store) Renew(ctx context.Context, c store.Renew) (renewed []store.Renewed, err error) {
	servers, err := s.servers(ctx, c.Partitions)
	if err != nil {
		return nil, err
	}
	for n, partitions := range servers {
		size := maxKeys / 2
		if !n.spread.Load() {
			size = 1
		}
		for some := range slices.Chunk(partitions, size) {
			more, err := s.renew(ctx, c, some)
			if err != nil {
				return nil, err
			}
			renewed = append(renewed, more...)
		}
	}
	return renewed, nil
}

// servers returns which of some partitions are on which server.
func (s *Store) servers(ctx context.Context, partitions []int) (map[*node][]int, error) {
	all := map[*node][]int{}
	for _, p := range partitions {
		n, err := s.node(ctx, p)
		if err != nil {
			return nil, err
		}
		all[n] = append(all[n], p)
	}
	return all, nil
}

func (s *Store) renew(ctx context.Context, c store.Renew, partitions []int) (renewed []store.Renewed, err error) {
	sent := s.uptime()
	keys, args := make([]any, 0, 2*len(partitions)), make([]any, 0, 2+len(partitions))
	args = append(args, c.Worker, c.Lease.Milliseconds())
	for _, p := range partitions {
		k := &s.keys.partitions[p]
		keys, args = append(keys, k.time, k.leases), append(args, s.clocks[p].expected(sent))
	}
	r, err := s.call(ctx, call{
		script: &s.scripts.renew, partition: partitions[0], subject: fmt.Sprintf("leases in %d partitions", len(partitions)), keys: keys, args: args,
	})
	if err != nil {
		return nil, err
	}
	times, _ := r.values[0].([]any)
	if len(times) != len(partitions) {
		return nil, fmt.Errorf("%v is not an answer of renew", r.values)
	}
	for n, p := range partitions {
		if at := integer(times[n]); at != 0 {
			s.clocks[p].observe(at, sent, s.uptime())
			renewed = append(renewed, store.Renewed{Partition: p, At: store.Moment(at)})
		}
	}
	return renewed, nil
}

// HeldBy implements store.Reader.
func (s *Store) HeldBy(ctx context.Context, partition int, worker string) (all []store.Held, err error) {
	k := &s.keys.partitions[partition]
	var held, notices *redis.StringSliceCmd
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		held, notices = p.ZRange(ctx, k.sets[store.SetHeld], 0, -1), p.SMembers(ctx, k.notices)
	})
	if err != nil {
		return nil, fmt.Errorf("read the held runs of partition %d: %w", partition, err)
	}
	noticed := map[string]bool{}
	for _, name := range notices.Val() {
		noticed[name] = true
	}
	for _, member := range held.Val() {
		if i, owner := holdingOf(member); owner == worker {
			all = append(all, store.Held{Instance: i, Notice: noticed[i.String()]})
		}
	}
	return all, nil
}

// ended returns the runs held by workers whose leases expired, at most n of each.
func (s *Store) ended(ctx context.Context, partition, n int, workers []string) ([]store.Ended, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	var held *redis.StringSliceCmd
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		held = p.ZRange(ctx, s.keys.partitions[partition].sets[store.SetHeld], 0, -1)
	})
	if err != nil {
		return nil, fmt.Errorf("read the held runs of partition %d: %w", partition, err)
	}
	return holdings(workers, held.Val(), n), nil
}

// forgetLeases deletes leases as described at store.Promote.
func (s *Store) forgetLeases(ctx context.Context, c *store.Promote) error {
	if len(c.Gone) == 0 {
		return nil
	}
	k := &s.keys.partitions[c.Partition]
	var times *redis.StringCmd
	var held *redis.StringSliceCmd
	err := s.exchange(ctx, c.Partition, s.sharedPipeline, func(p redis.Pipeliner) {
		times, held = p.Get(ctx, k.time), p.ZRange(ctx, k.sets[store.SetHeld], 0, -1) // in this order: a claim changes the first
	})
	if err != nil {
		return fmt.Errorf("read the held runs of partition %d: %w", c.Partition, err)
	}
	args := []any{newReading(0, times.Val()).seq, c.Worker}
	for _, lease := range holdings(c.Gone, held.Val(), 1) {
		if len(lease.Instances) == 0 {
			args = append(args, lease.Worker)
		}
	}
	if len(args) > 2 {
		_, err = s.call(ctx, call{script: &s.scripts.forget, partition: c.Partition, subject: "leases", keys: []any{k.time, k.leases}, args: args})
	}
	return err
}

// holdings returns the runs held by some workers, at most n of each.
func holdings(workers, held []string, n int) []store.Ended {
	all := make([]store.Ended, len(workers))
	for at, worker := range workers {
		all[at].Worker = worker
		for _, member := range held {
			if i, owner := holdingOf(member); owner == worker && len(all[at].Instances) < n {
				all[at].Instances = append(all[at].Instances, i)
			}
		}
	}
	return all
}
