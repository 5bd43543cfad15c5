package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// A list of the registry that another program has overwritten can be built again, since each entry has a key of its own.

// overwrittenLists finds the lists of a partition, or of a single server, that were overwritten with another type, and rebuilds them. Only
// the first call for a partition does this.
func (s *Store) overwrittenLists(ctx context.Context, c *store.Scrub, done *store.Scrubbed) error {
	if c.Cursor != "" {
		return nil
	}
	for _, kind := range store.RegistryKinds() {
		partition, k := s.registryOf(kind, "")
		if !kind.Listed() || s.cluster != nil && partition != c.Partition {
			continue
		}
		key := k.registeredBy(kind)
		var is *redis.StatusCmd
		if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { is = p.Type(ctx, key) }); err != nil {
			return err
		}
		rebuilt := isOverwritten(is.Val())
		if rebuilt && !c.Check {
			var err error
			if rebuilt, err = s.rebuild(ctx, kind, partition); err != nil {
				return fmt.Errorf("rebuild the list of %s: %w", kind, err)
			}
		}
		if rebuilt {
			done.Repaired = append(done.Repaired, fmt.Sprintf("the list of %s, the key %s, was overwritten by another program", kind, key))
		}
	}
	return nil
}

// isOverwritten reports whether the key of a list has another type than a store gives it.
func isOverwritten(is string) bool { return is != "none" && is != "zset" }

// rebuild replaces an overwritten list by the entries of its kind, in one step: rules and tokens are never missing for a moment. Entries cannot
// be added while the list is overwritten. It reports whether the list was still overwritten.
func (s *Store) rebuild(ctx context.Context, kind store.RegistryKind, partition int) (rebuilt bool, err error) {
	n, err := s.node(ctx, partition)
	if err != nil {
		return false, err
	}
	list := s.keys.partitions[partition].registeredBy(kind)
	err = n.client.Watch(ctx, func(tx *redis.Tx) error {
		is, err := tx.Type(ctx, list).Result()
		if err != nil || !isOverwritten(is) {
			return err
		}
		entries, err := s.entriesOf(ctx, tx, kind, partition)
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, list)
			if len(entries) > 0 {
				p.ZAdd(ctx, list, entries...)
			}
			return nil
		})
		rebuilt = err == nil
		return err
	}, list)
	if errors.Is(err, redis.TxFailedErr) { // another process has rebuilt it
		return false, nil
	}
	return rebuilt, err
}

// entriesOf returns the entries of a kind with their ends, as members of its list.
func (s *Store) entriesOf(ctx context.Context, on redis.Cmdable, kind store.RegistryKind, partition int) (all []redis.Z, err error) {
	now, err := s.time(ctx, partition)
	if err != nil {
		return nil, err
	}
	for from, again := uint64(0), true; again; again = from != 0 {
		var keys []string
		if keys, from, err = on.Scan(ctx, from, s.keys.entriesOf(fmt.Sprint(partition)), keysScanned).Result(); err != nil {
			return nil, err
		}
		for _, key := range keys {
			e, listed := s.listedEntry(key)
			if !listed || e.kind != kind {
				continue
			}
			if err := e.read(ctx, on, key, now); err != nil {
				return nil, err
			}
			if e.there {
				all = append(all, redis.Z{Score: e.at, Member: e.name})
			}
		}
	}
	return all, nil
}
