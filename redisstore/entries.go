package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// entrySet is a sorted set in which runs have entries that follow from their records.
type entrySet struct {
	key   func(*partitionKeys) string
	of    func(*store.Lifecycle, store.Instance) []string
	among string // name of its set, for people
}

func entrySets() []entrySet {
	return []entrySet{
		{func(k *partitionKeys) string { return k.needs }, (*store.Lifecycle).NeedEntries, "the index of needs"},
		{func(k *partitionKeys) string { return k.listeners }, (*store.Lifecycle).ListenEntries, "the listener index"},
	}
}

// wantedEntry is an entry that a run should have in a set.
type wantedEntry struct {
	run   *standing
	set   int // of entrySets
	entry string
	score *redis.FloatCmd
}

// wantedEntries returns the entries that runs should have.
func wantedEntries(found []standing) (wanted []wantedEntry) {
	for n := range found {
		is := &found[n]
		if is.lifecycle == nil || is.damaged != nil {
			continue
		}
		for set, of := range entrySets() {
			for _, entry := range of.of(is.lifecycle, is.instance) {
				wanted = append(wanted, wantedEntry{run: is, set: set, entry: entry})
			}
		}
	}
	return wanted
}

// missingEntries finds the missing entries of runs. An entry that is added concurrently comes with another record.
func (s *Store) missingEntries(ctx context.Context, partition int, found []standing) error {
	wanted := wantedEntries(found)
	if len(wanted) == 0 {
		return nil
	}
	sets := entrySets()
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for n := range wanted {
			w := &wanted[n]
			w.score = p.ZScore(ctx, sets[w.set].key(&s.keys.partitions[partition]), w.entry)
		}
	})
	if err != nil {
		return err
	}
	for _, w := range wanted {
		if !errors.Is(w.score.Err(), redis.Nil) {
			continue
		}
		if w.run.missing == nil {
			w.run.missing = make([][]string, len(sets))
		}
		w.run.missing[w.set] = append(w.run.missing[w.set], w.entry)
	}
	return nil
}

// addMissing adds the entries of a run that are missing.
func (b *batch) addMissing(k *partitionKeys, is *standing) {
	for set, entries := range is.missing {
		if len(entries) > 0 {
			b.do("ZADD", entrySets()[set].key(k), scored(entries)...)
			is.wrong("was missing in " + entrySets()[set].among)
		}
	}
}
