package redisstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// rawScript is the minimum of a job queue: six commands.
const rawScript = `
redis.call('HSET', KEYS[1], 'a', ARGV[1])
redis.call('HINCRBY', KEYS[1], 'n', 1)
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], -20, -1)
redis.call('ZADD', KEYS[3], redis.call('TIME')[1], KEYS[1])
return 1`

// RawRate measures how many bare scripts of six commands with data a server of the store executes in a second, pipelined like transitions.
// It is a reference for comparisons.
func (s *Store) RawRate(ctx context.Context, data []byte, lasting time.Duration) (float64, error) {
	client, err := s.server(ctx, 0)
	if err != nil {
		return 0, err
	}
	sha, err := client.ScriptLoad(ctx, rawScript).Result()
	if err != nil {
		return 0, err
	}
	prefix := s.keys.partitions[0].prefix + "raw:"
	var group sync.WaitGroup
	failed := make(chan error, senders)
	began := time.Now()
	var mu sync.Mutex
	total := 0
	for side := range senders {
		group.Go(func() {
			done, err := (&rawSide{client, sha, fmt.Sprintf("%s%d:", prefix, side), data}).run(ctx, began.Add(lasting))
			mu.Lock()
			total += done
			mu.Unlock()
			failed <- err
		})
	}
	group.Wait()
	rate := float64(total) / time.Since(began).Seconds()
	for range senders {
		if err := <-failed; err != nil {
			return 0, err
		}
	}
	return rate, forget(ctx, client, prefix)
}

const rawKeys = 100 // hashes and lists of each side

// rawSide runs scripts one pipeline after another.
type rawSide struct {
	client      *redis.Client
	sha, prefix string
	data        []byte
}

func (r *rawSide) run(ctx context.Context, until time.Time) (done int, err error) {
	for time.Now().Before(until) {
		pipe := r.client.Pipeline()
		for n := range rawKeys {
			keys := []string{fmt.Sprintf("%sh%d", r.prefix, n), fmt.Sprintf("%sl%d", r.prefix, n), r.prefix + "z"}
			pipe.EvalSha(ctx, r.sha, keys, r.data)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return done, err
		}
		done += rawKeys
	}
	return done, nil
}

// forget deletes the data of raw.
func forget(ctx context.Context, client *redis.Client, prefix string) error {
	pipe := client.Pipeline()
	for side := range senders {
		at := fmt.Sprintf("%s%d:", prefix, side)
		pipe.Unlink(ctx, at+"z")
		for n := range rawKeys {
			pipe.Unlink(ctx, fmt.Sprintf("%sh%d", at, n), fmt.Sprintf("%sl%d", at, n))
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}
