package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Workers returns how many processes run whatever there is (Config.IsWorker). One that drives a single run is none.
func (s *Store) Workers(ctx context.Context) (int64, error) {
	channel := s.keys.workers()
	var all atomic.Int64
	count := func(ctx context.Context, server *redis.Client) error {
		listeners, err := server.PubSubNumSub(ctx, channel).Result()
		all.Add(listeners[channel])
		return err
	}
	var err error
	if s.cluster != nil {
		err = s.cluster.ForEachShard(ctx, count) // a listener is connected to one of them
	} else {
		err = count(ctx, s.client.(*redis.Client))
	}
	if err != nil {
		return 0, fmt.Errorf("count the workers: %w", err)
	}
	return all.Load(), nil
}
