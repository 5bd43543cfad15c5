package redisstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/runtime/store"
)

// neededNow are the needs in a partition at a number of writes: until the next write, they need not be read again.
type neededNow struct {
	mu  sync.Mutex
	of  int64
	all []store.Need
}

// at returns the needs at a number of writes, if known.
func (k *neededNow) at(seq int64) (all []store.Need, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all), k.of == seq
}

func (k *neededNow) keep(seq int64, all []store.Need) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of, k.all = seq, slices.Clone(all)
}

// needs returns at most n needs for which runs of a partition wait that was written to so often; first is the first entry of the index, if it
// was asked for.
func (s *Store) needs(ctx context.Context, partition int, seq int64, n int, first *redis.StringSliceCmd) (all []store.Need, err error) {
	if known, ok := s.needed[partition].at(seq); ok {
		return known[:min(n, len(known))], nil
	}
	var entries []string
	if first != nil {
		entries = first.Val()
	} else if entries, err = s.needEntries(ctx, partition, "", "+", 1); err != nil {
		return nil, err
	}
	for len(entries) > 0 && len(all) < n {
		need, _ := store.ParseNeedEntry(entries[0])
		all = append(all, need)
		if entries, err = s.needEntries(ctx, partition, store.NextNeedEntry(need), "+", 1); err != nil {
			return nil, err
		}
	}
	if len(all) < n { // otherwise there may be more
		s.needed[partition].keep(seq, all)
	}
	return all, nil
}

// needEntries returns at most n entries of the index of needs, within bounds.
func (s *Store) needEntries(ctx context.Context, partition int, from, to string, n int) ([]string, error) {
	var entries *redis.StringSliceCmd
	err := s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
		entries = p.ZRangeByLex(ctx, s.keys.partitions[partition].needs, &redis.ZRangeBy{Min: "[" + from, Max: to, Count: int64(n)})
	})
	if err != nil {
		return nil, fmt.Errorf("read the needs of partition %d: %w", partition, err)
	}
	return entries.Val(), nil
}

// needPage is the minimum number of entries read for a need, so that all namespaces are represented even if few are requested.
const needPage = 100

// waitingFor returns entries of runs that wait for a need, fairly from all namespaces.
func (s *Store) waitingFor(ctx context.Context, c store.Needing) ([]string, error) {
	n := max(c.N, needPage)
	all, err := s.needEntries(ctx, c.Partition, store.FirstNeedEntry(c.Need), "("+store.AfterNeedEntries(c.Need), n)
	if err == nil && len(all) == n {
		all, err = s.lookBehindNeeds(ctx, c, all)
	}
	if err != nil {
		return nil, err
	}
	parts := byNamespace(all, func(entry string) string {
		_, i := store.ParseNeedEntry(entry)
		return i.Namespace
	})
	return store.Fairly(c.N, store.InTurn(c.Turn, parts)), nil
}

// lookBehindNeeds adds entries behind the first ones.
func (s *Store) lookBehindNeeds(ctx context.Context, c store.Needing, all []string) ([]string, error) {
	in := "need " + string(c.Need)
	now, from := s.behind[c.Partition].looks(in)
	if !now {
		return all, nil
	}
	var tail, part *redis.StringSliceCmd
	err := s.exchange(ctx, c.Partition, s.sharedPipeline, func(p redis.Pipeliner) {
		key, first, last := s.keys.partitions[c.Partition].needs, "["+store.FirstNeedEntry(c.Need), "("+store.AfterNeedEntries(c.Need)
		tail = p.ZRevRangeByLex(ctx, key, &redis.ZRangeBy{Min: first, Max: last, Count: tailSize})
		part = p.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: first, Max: last, Offset: int64(len(all)) + from, Count: partSize})
	})
	if err != nil {
		return nil, fmt.Errorf("read the needs of partition %d: %w", c.Partition, err)
	}
	s.behind[c.Partition].looked(in, from, int64(len(part.Val())))
	all = slices.Concat(all, part.Val(), tail.Val())
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Needing implements store.Reader. An entry that does not match the record of its run is deleted, unless the record has changed since, or a
// newer build has written it. The next scrubbing adds missing entries.
func (s *Store) Needing(ctx context.Context, c store.Needing) (all []store.Needy, err error) {
	entries, err := s.waitingFor(ctx, c)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	var runs []store.Instance
	for _, entry := range entries {
		_, i := store.ParseNeedEntry(entry)
		runs = append(runs, i.Instance)
	}
	found, _, err := s.look(ctx, c.Partition, runs...)
	if err != nil {
		return nil, err
	}
	for n, entry := range entries {
		_, i := store.ParseNeedEntry(entry)
		is := &found[n]
		switch {
		case is.lifecycle != nil && is.damaged == nil && slices.Contains(is.lifecycle.NeedEntries(i.Instance), entry):
			all = append(all, i)
		case form.IsNewer(is.damaged): // other workers can read it
		default:
			remove := []any{"ZREM", s.keys.partitions[c.Partition].needs, entry}
			if _, err := s.correctly(ctx, s.subjectIn(c.Partition, i.Instance), is.text, [][]any{remove}); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}
