package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// Permit implements store.Permits.
func (s *Store) Permit(ctx context.Context, c store.Permit) (store.Permitted, error) {
	if err := c.Check(); err != nil {
		return store.Permitted{}, err
	}
	partition := store.PermitPartition(c.Queue, s.layout.Partitions)
	k := &s.keys.partitions[partition]
	args := []any{
		c.Limit.Concurrency, c.Limit.Rate, wholeMillis(c.Limit.Span()), wholeMillis(c.For), len(c.Returned) + len(c.Released), len(c.Returned),
	}
	for _, holder := range slices.Concat(c.Returned, c.Released, c.Wanted) {
		args = append(args, holder)
	}
	r, err := s.call(ctx, call{
		script: &s.scripts.permit, partition: partition, subject: "permits of the queue " + c.Queue,
		keys: []any{k.timeKey, k.permits(c.Queue), k.permitsBegun(c.Queue)}, args: args,
	})
	if err != nil {
		return store.Permitted{}, err
	}
	done := store.Permitted{Held: int(integer(r.values[1])), At: r.at}
	for _, holder := range r.list(0) {
		text, _ := holder.(string)
		done.Holding = append(done.Holding, text)
	}
	if next := integer(r.values[2]); next > 0 {
		done.Next = store.Moment(next)
	}
	return done, nil
}

// wholeMillis returns a length in milliseconds; a part of one counts as a whole one.
func wholeMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Holders implements store.Permits.
func (s *Store) Holders(ctx context.Context, queue string) ([]string, error) {
	partition := store.PermitPartition(queue, s.layout.Partitions)
	var all *redis.ZSliceCmd
	now, err := s.timed(ctx, partition, func(p redis.Pipeliner) {
		all = p.ZRangeWithScores(ctx, s.keys.partitions[partition].permits(queue), 0, -1)
	})
	if err != nil {
		return nil, fmt.Errorf("read the permits of the queue %s: %w", queue, err)
	}
	var holders []string
	for _, z := range all.Val() {
		if z.Score > float64(now.UnixMilli()) {
			holders = append(holders, z.Member.(string))
		}
	}
	slices.SortFunc(holders, strings.Compare)
	return holders, nil
}
