package redisstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Attend implements store.Presence. The server knows from the connection that the process is present, and so notices immediately when it is
// gone.
func (s *Store) Attend(ctx context.Context, worker string) (leave func()) {
	subscription := s.client.Subscribe(ctx, s.keys.worker(worker))
	var listening sync.WaitGroup
	listening.Go(func() {
		for range subscription.Channel() { // nothing comes: it connects again when the connection is lost
		}
	})
	return func() { _ = subscription.Close(); listening.Wait() } // its error is that it is closed already
}

// Attending implements store.Presence.
func (s *Store) Attending(ctx context.Context, workers []string) (there []string, err error) {
	if len(workers) == 0 {
		return nil, nil
	}
	var channels []string
	for _, name := range workers {
		channels = append(channels, s.keys.worker(name))
	}
	var mu sync.Mutex
	listeners := map[string]int64{}
	count := func(ctx context.Context, server *redis.Client) error {
		found, err := server.PubSubNumSub(ctx, channels...).Result()
		mu.Lock()
		defer mu.Unlock()
		for channel, n := range found {
			listeners[channel] += n
		}
		return err
	}
	if s.cluster != nil {
		err = s.cluster.ForEachShard(ctx, count) // a listener is connected to one of them
	} else {
		err = count(ctx, s.client.(*redis.Client))
	}
	if err != nil {
		return nil, fmt.Errorf("ask which workers are connected: %w", err)
	}
	for _, name := range workers {
		if listeners[s.keys.worker(name)] > 0 {
			there = append(there, name)
		}
	}
	return there, nil
}

// worker returns the channel on which a worker listens.
func (k keys) worker(name string) string {
	return k.deployment + "workers:" + name
}
