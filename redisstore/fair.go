package redisstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// Runs that may be claimed stand in one sorted set by time. If so many of a namespace stand there that they are all that a poll reads, others
// are looked for behind them: among the last that have come, and part by part among the rest. That costs nothing while there are few.

const (
	// lookEvery is at which of so many polls it is looked for others, and tailSize and partSize how many runs are read then.
	lookEvery = 4
	tailSize  = 50
	partSize  = 250
)

// behind is how far it was looked behind the first runs of a partition.
type behind struct {
	mu    sync.Mutex
	polls int
	from  map[store.Set]int64
}

// looks reports whether it is to be looked now, and from which place on in each set.
func (b *behind) looks() (now bool, from map[store.Set]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from == nil {
		b.from = map[store.Set]int64{}
	}
	b.polls++
	from = map[store.Set]int64{}
	for set, at := range b.from {
		from[set] = at
	}
	return b.polls%lookEvery == 1, from
}

// looked notes how many runs were read of a part.
func (b *behind) looked(set store.Set, from, read int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from[set] = from + read; read < partSize {
		b.from[set] = 0
	}
}

// fairly puts the first runs of the sets that may be claimed, at most n of each, into an order in which one of each namespace comes in turn.
func (s *Store) fairly(ctx context.Context, w *store.Work, partition, n int) error {
	full := map[store.Set]*[]store.Instance{}
	for set, first := range map[store.Set]*[]store.Instance{store.SetNew: &w.New, store.SetBegun: &w.Begun} {
		if len(*first) == n {
			full[set] = first
		}
	}
	if len(full) > 0 {
		if err := s.lookBehind(ctx, partition, n, full); err != nil {
			return err
		}
	}
	w.New, w.Begun = inTurn(n, w.New), inTurn(n, w.Begun)
	return nil
}

// lookBehind adds runs that stand behind the first n of sets.
func (s *Store) lookBehind(ctx context.Context, partition, n int, full map[store.Set]*[]store.Instance) error {
	now, from := s.behind[partition].looks()
	if !now {
		return nil
	}
	k := &s.keys.partitions[partition]
	tails, parts := map[store.Set]*redis.StringSliceCmd{}, map[store.Set]*redis.StringSliceCmd{}
	err := s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
		for set := range full {
			at := int64(n) + from[set]
			tails[set], parts[set] = p.ZRange(ctx, k.sets[set], -tailSize, -1), p.ZRange(ctx, k.sets[set], at, at+partSize-1)
		}
	})
	if err != nil {
		return fmt.Errorf("poll partition %d: %w", partition, err)
	}
	for set, all := range full {
		s.behind[partition].looked(set, from[set], int64(len(parts[set].Val())))
		seen := map[store.Instance]bool{}
		for _, i := range *all {
			seen[i] = true
		}
		for _, member := range append(parts[set].Val(), tails[set].Val()...) {
			if i := instanceOf(member); !seen[i] {
				seen[i] = true
				*all = append(*all, i)
			}
		}
	}
	return nil
}

// inTurn returns at most n of all runs, one of each namespace in turn.
func inTurn(n int, all []store.Instance) []store.Instance {
	var parts [][]store.Instance
	at := map[string]int{}
	for _, i := range all {
		k, ok := at[i.Namespace]
		if !ok {
			k = len(parts)
			at[i.Namespace], parts = k, append(parts, nil)
		}
		parts[k] = append(parts[k], i)
	}
	if len(parts) < 2 {
		return all[:min(n, len(all))]
	}
	return store.Fairly(n, parts)
}
