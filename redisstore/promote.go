package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// maxChanges is how many changes one request sends.
const maxChanges = 100

// Promote implements store.Store.
func (s *Store) Promote(ctx context.Context, c store.Promote) (done store.Promoted, err error) {
	for some := range slices.Chunk(c.Instances, maxChanges) {
		ready, err := s.promote(ctx, &c, some)
		if err != nil {
			return done, err
		}
		done.Ready += ready
	}
	if err := s.forgetLeases(ctx, &c); err != nil {
		return done, err
	}
	done.At, err = s.time(ctx, c.Partition)
	return done, err
}

// promote makes some of the runs ready, and returns how many have become so.
func (s *Store) promote(ctx context.Context, c *store.Promote, instances []store.Instance) (ready int, err error) {
	all, now, err := s.look(ctx, c.Partition, instances...)
	if err != nil {
		return 0, fmt.Errorf("read %d runs: %w", len(instances), err)
	}
	b := s.newBatch(c.Partition, len(instances))
	var becomes []store.Lifecycle
	for n, i := range instances {
		if all[n].lifecycle == nil || all[n].damaged != nil {
			if err := s.unreadable(ctx, found{c.Partition, i, all[n].text, all[n].damaged, all[n].damaged != nil}, c.Unreadable); err != nil {
				return 0, err
			}
			continue
		}
		if change, code := c.Transition(all[n].lifecycle, now); code == "" {
			s.write(b, s.subjectIn(c.Partition, i), change, rewrite{all[n].text, change.To.String()})
			becomes = append(becomes, change.To)
		}
	}
	answers, err := s.applyAll(ctx, &s.scripts.applyFull, c.Partition, b)
	if err != nil {
		return 0, err
	}
	for n, r := range answers {
		if r.code == "OK" && !becomes[n].Ready.IsZero() {
			ready++
		}
	}
	return ready, nil
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, c store.Remove) (removed int, err error) {
	for some := range slices.Chunk(c.Instances, maxChanges) {
		n, err := s.remove(ctx, &c, some)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Store) remove(ctx context.Context, c *store.Remove, instances []store.Instance) (removed int, err error) {
	all, now, err := s.look(ctx, c.Partition, instances...)
	if err != nil {
		return 0, fmt.Errorf("read %d runs: %w", len(instances), err)
	}
	k := &s.keys.partitions[c.Partition]
	entries := make([]*redis.StringCmd, len(instances))
	err = s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		for n, i := range instances {
			entries[n] = p.HGet(ctx, k.instance(i), fieldIndex)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("read %d runs: %w", len(instances), err)
	}
	b := s.newBatch(c.Partition, len(instances))
	for n, i := range instances {
		r, damaged := all[n].lifecycle, all[n].damaged
		if r == nil || damaged != nil { // in its place it would hide the runs that follow it
			if err := s.unreadable(ctx, found{c.Partition, i, all[n].text, damaged, damaged != nil}, nil); err != nil {
				return 0, err
			}
		} else if c.Removes(r, now) {
			s.removal(b, i, &all[n], entries[n].Val())
		}
	}
	answers, err := s.applyAll(ctx, &s.scripts.applyFull, c.Partition, b)
	for _, r := range answers {
		if r.code == "OK" {
			removed++
		}
	}
	return removed, err
}

// removal deletes a run, and its entry among all.
func (s *Store) removal(b *batch, i store.Instance, is *kept, entry string) {
	to, at := s.subject(i), is.lifecycle.Place()
	k := to.keys
	b.begin(to, is.text)
	b.do("ZREM", k.sets[at.Set], member(i, at))
	b.do("XDEL", k.index, entry)
	b.do("SREM", k.unreadable, i.String())
	b.do("REMOVE", k.inbox(i))
	b.keys = append(b.keys, k.payloads(i))
}
