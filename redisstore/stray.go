package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// isStray reports whether a member of a set of runs is not what a store writes there, so that somebody else has. It names no run.
func isStray(set store.Set, m string) bool {
	i, owner := holdingOf(m)
	return m != member(i, store.Place{Set: set, Owner: owner})
}

// removeStrays removes members of the sets of runs that name no run, from a server and from what was read. They say nothing that could be put right, and in
// the place that they have they would hide runs from a poll. They count as repairs.
func (s *Store) removeStrays(ctx context.Context, partition int, r *polled) error {
	strays := map[store.Set][]any{}
	for set, read := range r.sets {
		var rest []redis.Z
		for _, z := range read.Val() {
			if isStray(set, z.Member.(string)) {
				strays[set] = append(strays[set], z.Member)
			} else {
				rest = append(rest, z)
			}
		}
		if len(strays[set]) > 0 {
			read.SetVal(rest)
		}
	}
	if len(strays) == 0 {
		return nil
	}
	k := &s.keys.partitions[partition]
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for set, all := range strays {
			p.ZRem(ctx, k.sets[set], all...)
			p.HIncrBy(ctx, k.meta, "repairs", int64(len(all)))
		}
	})
	if refusesWrites(err) {
		return nil
	}
	return err
}
