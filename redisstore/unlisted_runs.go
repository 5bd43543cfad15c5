package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// The index names all runs of a partition. A run that it does not name is in no list, and no other comparison finds it. No transition of a
// store causes this; it results from manual changes.

// runsCursor is the prefix of the cursors of Scrub in the keys of runs, which are compared after the entries of the registry.
const runsCursor = "runs "

// scrubKeys compares a page of the keys of a server with the lists in which they should be.
func (s *Store) scrubKeys(ctx context.Context, c *store.Scrub) (done store.Scrubbed, err error) {
	if c.Only != nil || s.cluster == nil && c.Partition > 0 {
		return done, nil
	}
	if from, runs := strings.CutPrefix(c.Cursor, runsCursor); runs {
		at, _ := strconv.ParseUint(from, 10, 64) // an earlier call has written it
		err = s.scrubUnlisted(ctx, c, at, &done)
		return done, err
	}
	if done, err = s.scrubRegistry(ctx, c); err == nil && done.Cursor == "" {
		done.Cursor = runsCursor + "0"
	}
	return done, err
}

// scrubUnlisted compares a page of the runs on the server of a partition with the indexes. The runs of a single server are compared with
// its first partition.
func (s *Store) scrubUnlisted(ctx context.Context, c *store.Scrub, from uint64, done *store.Scrubbed) error {
	pattern := s.keys.runsOf("*")
	if s.cluster != nil {
		pattern = s.keys.runsOf(strconv.Itoa(c.Partition))
	}
	var scanned *redis.ScanCmd
	if err := s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) { scanned = p.Scan(ctx, from, pattern, keysScanned) }); err != nil {
		return err
	}
	keys, next := scanned.Val()
	runs := map[int][]store.Instance{}
	for _, key := range keys {
		_, name, _ := strings.Cut(key, "}:i:")
		i := store.InstanceOf(name)
		partition, k := s.of(i)
		if i.Check() == nil && key == k.instance(i) && (s.cluster == nil || partition == c.Partition) {
			runs[partition] = append(runs[partition], i)
		}
	}
	for partition, all := range runs {
		for some := range slices.Chunk(all, maxChanges) {
			if err := s.addUnlisted(ctx, &store.Scrub{Partition: partition, Check: c.Check}, some, done); err != nil {
				return err
			}
		}
	}
	if next > 0 {
		done.Cursor = runsCursor + strconv.FormatUint(next, 10)
	}
	return nil
}

// addUnlisted adds the runs to the index of their partition that it lacks, and puts them in the places of their records.
func (s *Store) addUnlisted(ctx context.Context, c *store.Scrub, runs []store.Instance, done *store.Scrubbed) error {
	runs, err := s.unlistedOf(ctx, c.Partition, runs)
	if err != nil || len(runs) == 0 {
		return err
	}
	all, _, err := s.look(ctx, c.Partition, runs...)
	if err != nil {
		return err
	}
	found := store.Scrubbed{}
	var entries []entry
	for n, i := range runs {
		if all[n].lifecycle == nil || all[n].damaged != nil {
			continue
		}
		if !c.Check {
			added, err := s.correctly(ctx, s.subjectIn(c.Partition, i), all[n].text, [][]any{{"INDEX", s.keys.partitions[c.Partition].index, i.String()}})
			if err != nil {
				return err
			}
			if !added { // it changed concurrently: the next comparison finds it
				continue
			}
		}
		found.Repaired = append(found.Repaired, i.String()+": was missing in the list of runs")
		entries = append(entries, entry{"0-1", i})
	}
	if len(entries) > 0 {
		_, err = s.repairAll(ctx, c, entries, &found)
	}
	done.Repaired = append(done.Repaired, found.Repaired...)
	if n := len(found.Repaired); n > 0 && !c.Check && err == nil {
		err = s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) { p.HIncrBy(ctx, s.keys.partitions[c.Partition].meta, "repairs", int64(n)) })
	}
	return err
}

// unlistedOf returns the runs that the index of a partition does not name: neither at the entry that a run names, nor elsewhere.
func (s *Store) unlistedOf(ctx context.Context, partition int, runs []store.Instance) ([]store.Instance, error) {
	k := &s.keys.partitions[partition]
	ids := make([]*redis.StringCmd, len(runs))
	err := s.tolerant(ctx, partition, func(p redis.Pipeliner) {
		for n, i := range runs {
			ids[n] = p.HGet(ctx, k.instance(i), fieldIndex)
		}
	})
	if err != nil {
		return nil, err
	}
	listed := make([]*redis.XMessageSliceCmd, len(runs))
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for n := range runs {
			if id := ids[n].Val(); isEntryID(id) {
				listed[n] = p.XRange(ctx, k.index, id, id)
			}
		}
	})
	rest := map[store.Instance]bool{}
	for n, i := range runs {
		if listed[n] == nil || len(listed[n].Val()) == 0 || indexed(listed[n].Val()[0]) != i {
			rest[i] = true
		}
	}
	for cursor, again := "", err == nil && len(rest) > 0; again; again = cursor != "" && err == nil {
		var page []entry
		page, cursor, err = s.scan(ctx, partition, cursor, keysScanned)
		for _, e := range page {
			delete(rest, e.instance)
		}
	}
	return slices.DeleteFunc(slices.Clone(runs), func(i store.Instance) bool { return !rest[i] }), err
}

// isEntryID reports whether a text is the id of an entry of a stream.
func isEntryID(text string) bool {
	ms, n, two := strings.Cut(text, "-")
	_, bad := strconv.ParseUint(ms, 10, 64)
	_, worse := strconv.ParseUint(n, 10, 64)
	return two && bad == nil && worse == nil
}
