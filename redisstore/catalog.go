package redisstore

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Define implements store.Catalog.
func (s *Store) Define(ctx context.Context, key string, data []byte) error {
	kept, err := s.client.HGet(ctx, s.keys.definitions(), key).Bytes() // first, since a server that is full takes no writes
	if errors.Is(err, redis.Nil) {
		var created bool
		created, err = s.client.HSetNX(ctx, s.keys.definitions(), key, data).Result()
		if created || err != nil && !isRefused(err) {
			store.Attempted(ctx)
		}
		if err != nil || created {
			return damageOf(s.keys.definitions(), err)
		}
		kept, err = s.client.HGet(ctx, s.keys.definitions(), key).Bytes() // another process was faster
	}
	if err == nil && string(kept) != string(data) {
		err = &store.Refusal{Code: store.Conflict, Detail: "definition " + key}
	}
	return damageOf(s.keys.definitions(), err)
}

// Undefine implements store.Catalog. Another definition that is stored or removed concurrently does not matter.
func (s *Store) Undefine(ctx context.Context, key string, data []byte) (err error) {
	for range maxAttempts {
		err = s.client.Watch(ctx, func(tx *redis.Tx) error { return s.undefine(ctx, tx, key, data) }, s.keys.definitions())
		if !errors.Is(err, redis.TxFailedErr) {
			return damageOf(s.keys.definitions(), err)
		}
	}
	return &store.Refusal{Code: store.Conflict, Detail: "definition " + key, Reason: "was not removed, because other definitions change at the same time: repeat the command"}
}

func (s *Store) undefine(ctx context.Context, tx *redis.Tx, key string, data []byte) error {
	kept, err := tx.HGet(ctx, s.keys.definitions(), key).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return &store.Refusal{Code: store.NoSuch, Detail: "definition " + key}
	case err != nil:
		return err
	case string(kept) != string(data):
		return &store.Refusal{Code: store.Conflict, Detail: "definition " + key}
	}
	_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.HDel(ctx, s.keys.definitions(), key).Err() })
	if err == nil || !errors.Is(err, redis.TxFailedErr) && !isRefused(err) {
		store.Attempted(ctx)
	}
	return err
}

// Layout implements store.Reader.
func (s *Store) Layout() store.Layout { return s.layout }

// Definition implements store.Catalog.
func (s *Store) Definition(ctx context.Context, key string) ([]byte, error) {
	data, err := s.client.HGet(ctx, s.keys.definitions(), key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, &store.Refusal{Code: store.NoSuch, Detail: "definition " + key}
	}
	return data, damageOf(s.keys.definitions(), err)
}

// Definitions implements store.Catalog.
func (s *Store) Definitions(ctx context.Context, prefix string) ([]string, error) {
	keys, err := s.client.HKeys(ctx, s.keys.definitions()).Result()
	keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) })
	slices.Sort(keys)
	return keys, damageOf(s.keys.definitions(), err)
}

// definitionsRead is how many definitions one call reads.
const definitionsRead = 1000

// DefinitionsBy implements store.Catalog. A definition that is removed meanwhile is missing.
func (s *Store) DefinitionsBy(ctx context.Context, prefix string) (map[string][]byte, error) {
	keys, err := s.Definitions(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for some := range slices.Chunk(keys, definitionsRead) {
		values, err := s.client.HMGet(ctx, s.keys.definitions(), some...).Result()
		if err != nil {
			return nil, damageOf(s.keys.definitions(), err)
		}
		for n, value := range values {
			if text, ok := value.(string); ok {
				all[some[n]] = []byte(text)
			}
		}
	}
	return all, nil
}
