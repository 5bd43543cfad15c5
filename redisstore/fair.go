package redisstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// Ready runs are in one sorted set by time, and so are runs that wait for a need. If the runs of one namespace fill a whole poll, runs of
// others are searched behind them: among the newest, and piecewise among the rest. This costs nothing while there are few runs.

const (
	// lookEvery is the number of polls between two searches, and tailSize and partSize are the numbers of runs read in a search.
	lookEvery = 4
	tailSize  = 50
	partSize  = 250
)

// behind is how far it was looked behind the first runs of a partition.
type behind struct {
	mu sync.Mutex
	in map[string]*looking // sets, and needs
}

// looking is how far it was looked in one of them, and how often it was full.
type looking struct{ full, from int64 }

// maxLooking bounds how many are known: needs have any name.
const maxLooking = 1000

// looks notes that all which was read of a set is of few namespaces, and reports whether it is to be looked behind it now, and from which place on.
func (b *behind) looks(in string) (now bool, from int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.in[in]
	if at == nil {
		if b.in == nil || len(b.in) >= maxLooking {
			b.in = map[string]*looking{}
		}
		at = &looking{}
		b.in[in] = at
	}
	at.full++
	return at.full%lookEvery == 1, at.from
}

// looked notes how many runs were read of a part.
func (b *behind) looked(in string, from, read int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.in[in]; at != nil {
		if at.from = from + read; read < partSize {
			at.from = 0
		}
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
	for _, first := range []*[]store.Instance{&w.New, &w.Begun} {
		others, passed := s.passed[partition].Split(*first)
		*first = append(inTurn(n, others), passed...)
	}
	return nil
}

// lookBehind adds runs behind the first n of sets.
func (s *Store) lookBehind(ctx context.Context, partition, n int, full map[store.Set]*[]store.Instance) error {
	from := map[store.Set]int64{}
	for set := range full {
		if now, at := s.behind[partition].looks(string(set)); now {
			from[set] = at
		} else {
			delete(full, set)
		}
	}
	if len(full) == 0 {
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
		s.behind[partition].looked(string(set), from[set], int64(len(parts[set].Val())))
		seen := map[store.Instance]bool{}
		for _, i := range *all {
			seen[i] = true
		}
		for _, member := range append(parts[set].Val(), tails[set].Val()...) {
			if i := instanceOf(member); !seen[i] && !isStray(set, member) {
				seen[i] = true
				*all = append(*all, i)
			}
		}
	}
	return nil
}

// inTurn returns at most n of all runs, one of each namespace in turn.
func inTurn(n int, all []store.Instance) []store.Instance {
	parts := byNamespace(all, func(i store.Instance) string { return i.Namespace })
	if len(parts) < 2 {
		return all[:min(n, len(all))]
	}
	return store.Fairly(n, parts)
}

// byNamespace divides ordered items by namespace. The first namespace that occurs is first.
func byNamespace[T any](all []T, namespace func(T) string) (parts [][]T) {
	at := map[string]int{}
	for _, one := range all {
		k, ok := at[namespace(one)]
		if !ok {
			k = len(parts)
			at[namespace(one)], parts = k, append(parts, nil)
		}
		parts[k] = append(parts[k], one)
	}
	return parts
}
