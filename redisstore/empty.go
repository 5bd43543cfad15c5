package redisstore

import (
	"context"
	"fmt"
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

// lacksRecord returns the refusal of an entry whose run has no record: of the run if some part of it is stored, and otherwise of the entry,
// without a run. gone is true if the run or the entry was removed concurrently, or the run has a record now.
func (s *Store) lacksRecord(ctx context.Context, partition int, e entry) (u store.Unreadable, gone bool, err error) {
	err = s.absent(ctx, e.instance)
	if store.IsUnreadable(err) {
		return store.Unreadable{Instance: e.instance, Err: err}, false, nil
	}
	if store.RefusedAs(err) != store.NoSuch {
		return u, err == nil, err
	}
	k := &s.keys.partitions[partition]
	var still *redis.XMessageSliceCmd
	if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { still = p.XRange(ctx, k.index, e.id, e.id) }); err != nil || len(still.Val()) == 0 {
		return u, err == nil, err
	}
	return store.Unreadable{Err: store.RefuseUnreadable(fmt.Sprintf("the entry %s of the key %s", e.id, k.index), store.NamesNothing(e.instance), time.Time{})}, false, nil
}

// withoutEmpty removes the entries of runs of which nothing is stored, from the index and from a page. Each counts as a repair. Their
// entries in other sets are strays. It also removes runs from the page that were removed concurrently, and notes why the others lack a record.
func (s *Store) withoutEmpty(ctx context.Context, c *store.Scrub, found []standing, done *store.Scrubbed) (rest []standing, err error) {
	for _, is := range found {
		if is.lifecycle != nil || is.damaged != nil || !is.listed {
			rest = append(rest, is)
			continue
		}
		u, gone, err := s.lacksRecord(ctx, c.Partition, is.entry)
		switch {
		case err != nil:
			return nil, err
		case gone:
		case u.Instance != store.Instance{}:
			is.lacking = u.Err
			rest = append(rest, is)
		default:
			if err := s.removeEmpty(ctx, c, is.entry, done); err != nil {
				return nil, err
			}
		}
	}
	return rest, nil
}

// removeEmpty removes the entry of a run of which nothing is stored from the index.
func (s *Store) removeEmpty(ctx context.Context, c *store.Scrub, e entry, done *store.Scrubbed) error {
	k := &s.keys.partitions[c.Partition]
	done.Repaired = append(done.Repaired, fmt.Sprintf("the entry %s of the key %s named the run %s, of which nothing is stored", e.id, k.index, e.instance))
	if c.Check {
		return nil
	}
	return s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		p.XDel(ctx, k.index, e.id)
		p.SRem(ctx, k.unreadable, e.instance.String())
	})
}
