package redisstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// Entries of the index whose run has no record. No transition of a store causes this; it results from manual changes.

// absent returns the reason why a run is unknown: it does not exist, or its record, or its key without its history, was deleted by another
// program.
func (s *Store) absent(ctx context.Context, i store.Instance) error {
	p, k := s.of(i)
	var there, history, inbox, payloads *redis.IntCmd
	var record *redis.BoolCmd
	err := s.exchange(ctx, p, s.ownPipeline((*redis.Client).TxPipeline), func(p redis.Pipeliner) {
		there, record, history = p.Exists(ctx, k.instance(i)), p.HExists(ctx, k.instance(i), fieldRecord), p.Exists(ctx, k.history(i))
		inbox, payloads = p.Exists(ctx, k.inbox(i)), p.Exists(ctx, k.payloads(i))
	})
	if err != nil {
		return fmt.Errorf("load run %s: %w", i, err)
	}
	if there.Val() == 1 && !record.Val() {
		return store.RefuseUnreadable("run "+i.String(), errNoRecord, time.Time{})
	}
	if there.Val() == 0 && history.Val() == 1 {
		return store.RefuseUnreadable("run "+i.String(), &damagedKeyError{k.instance(i), errDeleted}, time.Time{})
	}
	var parts []string
	if inbox.Val() == 1 {
		parts = append(parts, "inbox")
	}
	if payloads.Val() == 1 {
		parts = append(parts, "payloads")
	}
	if there.Val() == 0 && len(parts) > 0 {
		return store.RefuseUnreadable("run "+i.String(), store.NoRecord(parts), time.Time{})
	}
	return &store.Refusal{Code: store.NoSuch, Detail: "run " + i.String()}
}

// lacksRecord returns the refusal of an entry whose run has no record, unless the run was removed concurrently. The refusal is of the run
// if some part of it is stored, and otherwise of the entry, without a run.
func (s *Store) lacksRecord(ctx context.Context, partition int, e entry) (u store.Unreadable, is bool) {
	err := s.absent(ctx, e.instance)
	if store.IsUnreadable(err) {
		return store.Unreadable{Instance: e.instance, Err: err}, true
	}
	k := &s.keys.partitions[partition]
	var still *redis.XMessageSliceCmd
	if store.RefusedAs(err) != store.NoSuch ||
		s.pipelined(ctx, partition, func(p redis.Pipeliner) { still = p.XRange(ctx, k.index, e.id, e.id) }) != nil || len(still.Val()) == 0 {
		return u, false
	}
	return store.Unreadable{Err: store.RefuseUnreadable(fmt.Sprintf("the entry %s of the key %s", e.id, k.index), store.NamesNothing(e.instance), time.Time{})}, true
}

// withoutEmpty removes the entries of runs of which nothing is stored, from the index and from a page. Each counts as a repair. Their
// entries in other sets are strays.
func (s *Store) withoutEmpty(ctx context.Context, c *store.Scrub, found []standing, done *store.Scrubbed) (rest []standing, err error) {
	k := &s.keys.partitions[c.Partition]
	rest = slices.DeleteFunc(found, func(is standing) bool {
		if err != nil || is.lifecycle != nil || is.damaged != nil || !is.listed {
			return false
		}
		u, lacks := s.lacksRecord(ctx, c.Partition, is.entry)
		if !lacks || u.Instance != (store.Instance{}) {
			return false
		}
		done.Repaired = append(done.Repaired, fmt.Sprintf("the entry %s of the key %s named the run %s, of which nothing is stored", is.id, k.index, is.instance))
		if !c.Check {
			err = s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
				p.XDel(ctx, k.index, is.id)
				p.SRem(ctx, k.unreadable, is.instance.String())
			})
		}
		return true
	})
	return rest, err
}
