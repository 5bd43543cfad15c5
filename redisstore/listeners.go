package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Listeners implements store.Reader.
func (s *Store) Listeners(ctx context.Context, c store.Listening) (found store.Listeners, err error) {
	set := s.keys.partitions[c.Partition].listeners
	first, runs := make([]*redis.StringSliceCmd, len(c.Types)), make([]*redis.StringSliceCmd, len(c.Filters))
	err = s.exchange(ctx, c.Partition, s.sharedPipeline, func(p redis.Pipeliner) {
		for n, kind := range c.Types {
			first[n] = firstAbove(ctx, p, set, store.FirstOfType(kind), store.AfterType(kind))
		}
		for n, f := range c.Filters {
			from, to := c.Between(f)
			runs[n] = p.ZRangeByLex(ctx, set, &redis.ZRangeBy{Min: "[" + from, Max: "(" + to, Count: int64(c.N)})
		}
	})
	for n, kind := range c.Types {
		if err == nil {
			err = s.listenedFor(ctx, c.Partition, kind, first[n].Val(), &found)
		}
	}
	if err != nil {
		return found, fmt.Errorf("ask who listens in partition %d: %w", c.Partition, err)
	}
	found.Runs = make([][]store.Instance, len(c.Filters))
	for n := range c.Filters {
		for _, entry := range runs[n].Val() {
			if _, i, _, err := store.ParseListenEntry(entry); err == nil { // otherwise a hand has written it
				found.Runs[n] = append(found.Runs[n], i)
			}
		}
	}
	return found, nil
}

// listenedFor adds the expressions of all filters of a type; entries are the first entry of it, if there is one.
func (s *Store) listenedFor(ctx context.Context, partition int, kind string, entries []string, found *store.Listeners) error {
	for len(entries) > 0 {
		f, _, next, err := store.ParseListenEntry(entries[0])
		if err == nil {
			f.Key = ""
			found.From = append(found.From, f)
		} else {
			next = entries[0] + "\x00"
		}
		var above *redis.StringSliceCmd
		err = s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
			above = firstAbove(ctx, p, s.keys.partitions[partition].listeners, next, store.AfterType(kind))
		})
		if err != nil {
			return err
		}
		entries = above.Val()
	}
	return nil
}

// firstAbove asks for the first member of a set from one to another.
func firstAbove(ctx context.Context, p redis.Pipeliner, set, from, to string) *redis.StringSliceCmd {
	return p.ZRangeByLex(ctx, set, &redis.ZRangeBy{Min: "[" + from, Max: "(" + to, Count: 1})
}

// listens notes what the run listens for.
func (b *batch) listens(to *subject, of *store.Change) {
	removed, added := of.ListenEntries(to.instance)
	if len(removed) > 0 {
		members := make([]any, len(removed))
		for n, entry := range removed {
			members[n] = entry
		}
		b.do("ZREM", to.keys.listeners, members...)
	}
	if len(added) > 0 {
		b.do("ZADD", to.keys.listeners, scored(added)...)
	}
}

// scored returns members of a sorted set with the score 0 each, as arguments.
func scored(members []string) (all []any) {
	for _, m := range members {
		all = append(all, 0, m)
	}
	return all
}

// missingListeners notes which entries of those who listen are missing. One that is added meanwhile comes with another record.
func (s *Store) missingListeners(ctx context.Context, partition int, found []standing) error {
	var entries []string
	var of []*standing
	for n := range found {
		if is := &found[n]; is.lifecycle != nil && is.damaged == nil {
			for _, entry := range is.lifecycle.ListenEntries(is.instance) {
				entries, of = append(entries, entry), append(of, is)
			}
		}
	}
	missing, err := s.missingMembers(ctx, partition, s.keys.partitions[partition].listeners, entries)
	for _, n := range missing {
		of[n].listens = append(of[n].listens, entries[n])
	}
	return err
}

// missingMembers returns the positions of members that a sorted set does not have.
func (s *Store) missingMembers(ctx context.Context, partition int, set string, members []string) (missing []int, err error) {
	if len(members) == 0 {
		return nil, nil
	}
	scores := make([]*redis.FloatCmd, len(members))
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for n, member := range members {
			scores[n] = p.ZScore(ctx, set, member)
		}
	})
	for n := range members {
		if err == nil && errors.Is(scores[n].Err(), redis.Nil) {
			missing = append(missing, n)
		}
	}
	return missing, err
}
