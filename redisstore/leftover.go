package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// Entries of the listener index without a matching record. No transition of a store creates one; they result from manual changes. Events
// would be delivered to runs that do not listen for them.

// listenCursor is the prefix of the cursors of Scrub in the listener index, which is checked after all runs.
const listenCursor = "listeners "

// leftover is an entry of the listener index, and the run that it names.
type leftover struct {
	entry string
	run   store.Instance
	here  bool // the run is one of this partition
	score *redis.FloatCmd
	is    *redis.SliceCmd
}

// leftovers checks a page of the listener index after a cursor, and removes entries without a matching record.
func (s *Store) leftovers(ctx context.Context, c *store.Scrub, cursor string, done *store.Scrubbed) error {
	key, from := s.keys.partitions[c.Partition].listeners, "-"
	if cursor != "" {
		from = "(" + cursor
	}
	var entries *redis.StringSliceCmd
	err := s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		entries = p.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: from, Max: "+", Count: int64(c.N)})
	})
	if err != nil || len(entries.Val()) == 0 {
		return err
	}
	if all := entries.Val(); len(all) == c.N {
		done.Cursor = listenCursor + all[len(all)-1]
	}
	left, err := s.withoutRecord(ctx, c.Partition, entries.Val())
	if err != nil || len(left) == 0 {
		return err
	}
	return s.removeLeftovers(ctx, c, left, done)
}

// withoutRecord returns the entries that no record has. Each is compared with its record at one moment.
func (s *Store) withoutRecord(ctx context.Context, partition int, entries []string) ([]leftover, error) {
	all, k := make([]leftover, len(entries)), &s.keys.partitions[partition]
	for n, entry := range entries {
		all[n].entry = entry
		if _, i, _, err := store.ParseListenEntry(entry); err == nil {
			all[n].run, all[n].here = i, i.Check() == nil && i.Partition(s.layout.Partitions) == partition
		}
	}
	err := s.exchange(ctx, partition, s.ownPipeline((*redis.Client).TxPipeline), func(p redis.Pipeliner) {
		for n := range all {
			all[n].score, all[n].is = p.ZScore(ctx, k.listeners, all[n].entry), p.HMGet(ctx, k.instance(all[n].run), fieldRecord, fieldMail)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("compare the listener index of partition %d: %w", partition, err)
	}
	return slices.DeleteFunc(all, func(l leftover) bool {
		is := l.kept()
		listens := l.here && is.lifecycle != nil && (is.damaged != nil || slices.Contains(is.lifecycle.ListenEntries(l.run), l.entry))
		return listens || l.score.Err() != nil // or it was removed concurrently
	}), nil
}

func (l *leftover) kept() kept {
	if values := l.is.Val(); len(values) == 2 {
		return newKept(values[0], values[1])
	}
	return kept{}
}

// removeLeftovers removes entries, except those whose run began to listen concurrently.
func (s *Store) removeLeftovers(ctx context.Context, c *store.Scrub, left []leftover, done *store.Scrubbed) error {
	b, key := s.newBatch(c.Partition, len(left)), s.keys.partitions[c.Partition].listeners
	var removed []*leftover
	var nobodys []any
	for n := range left {
		switch l := &left[n]; {
		case c.Check:
			done.Repaired = append(done.Repaired, store.LeftListening(l.run, l.entry))
		case l.here:
			is := l.kept()
			b.begin(s.subject(l.run), is.text)
			b.do("ZREM", key, l.entry)
			removed = append(removed, l)
		default:
			nobodys = append(nobodys, l.entry)
			done.Repaired = append(done.Repaired, store.LeftListening(l.run, l.entry))
		}
	}
	answers, err := s.applyAll(ctx, &s.scripts.applyFull, c.Partition, b)
	for n, r := range answers {
		if r.code == "OK" {
			done.Repaired = append(done.Repaired, store.LeftListening(removed[n].run, removed[n].entry))
		}
	}
	if err != nil || len(nobodys) == 0 {
		return err
	}
	return s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) { p.ZRem(ctx, key, nobodys...) })
}
