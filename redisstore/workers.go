package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// Attend counts this process among the workers of the store until leave is called: among those of all runs if all is set, or else among
// those of some runs. The server knows by the connection that the process is there, and so notices at once that it is gone.
func (s *Store) Attend(ctx context.Context, all bool, runs []store.Instance) (leave func()) {
	channels := []string{s.keys.workers()}
	if !all {
		channels = s.keys.workersOf(runs)
	}
	if len(channels) == 0 {
		return func() {}
	}
	subscription := s.client.Subscribe(ctx, channels...)
	var listening sync.WaitGroup
	listening.Go(func() {
		for range subscription.Channel() { // nothing comes: it connects again when the connection is lost
		}
	})
	return func() { _ = subscription.Close(); listening.Wait() } // its error is that it is closed already
}

// Workers returns how many processes work on all runs of the store, or on one of some runs.
func (s *Store) Workers(ctx context.Context, runs ...store.Instance) (int64, error) {
	channels := append(s.keys.workersOf(runs), s.keys.workers())
	var workers atomic.Int64
	count := func(ctx context.Context, server *redis.Client) error {
		listeners, err := server.PubSubNumSub(ctx, channels...).Result()
		for _, n := range listeners {
			workers.Add(n)
		}
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
	return workers.Load(), nil
}
