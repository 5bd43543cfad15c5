package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Workers returns how many processes run whatever there is (Config.IsWorker), and how many drive runs at all: those, and processes
// that drive only runs of their own. The server notices at once that a process has gone whose connection has ended.
func (s *Store) Workers(ctx context.Context) (workers, drivers int64, err error) {
	all, listening := s.keys.workers(), s.keys.hints()
	var countWorkers, countDrivers atomic.Int64
	count := func(ctx context.Context, server *redis.Client) error {
		listeners, err := server.PubSubNumSub(ctx, all, listening).Result()
		countWorkers.Add(listeners[all])
		countDrivers.Add(listeners[listening])
		return err
	}
	if s.cluster != nil {
		err = s.cluster.ForEachShard(ctx, count) // a listener is connected to one of them
	} else {
		err = count(ctx, s.client.(*redis.Client))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("count the workers: %w", err)
	}
	return countWorkers.Load(), countDrivers.Load(), nil
}
