package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Register implements store.Registry.
func (s *Store) Register(ctx context.Context, c store.Registration) (store.Registered, error) {
	if err := c.Check(); err != nil {
		return store.Registered{}, err
	}
	length := store.Millis(time.Unix(0, int64(c.For))) // a part of a millisecond counts as a whole one
	if c.For == 0 {
		length = 0
	}
	r, err := s.register(ctx, &c, length, c.Value)
	if store.RefusedAs(err) == store.Limit {
		room := c.Room()
		return store.Registered{}, room.Refuse(integer(r.values[0]), integer(r.values[1]), r.at)
	}
	if err != nil {
		return store.Registered{}, err
	}
	return store.Registered{Key: c.Key, Value: c.Value, Version: integer(r.values[0]), Ends: store.Moment(integer(r.values[1])), At: r.at}, nil
}

// Unregister implements store.Registry.
func (s *Store) Unregister(ctx context.Context, kind store.RegistryKind, key string, version int64) error {
	if err := kind.CheckKey(key); err != nil {
		return err
	}
	_, err := s.register(ctx, &store.Registration{Kind: kind, Key: key, Version: version})
	return err
}

// register calls the script with an entry's lifetime and value, or without them to delete it.
func (s *Store) register(ctx context.Context, c *store.Registration, entry ...any) (reply, error) {
	partition, k := s.registryOf(c.Kind, c.Key)
	name, room := "", c.Room()
	if c.Kind.Listed() {
		name = c.Key
	}
	id := s.opened + strconv.FormatUint(s.registrations.Add(1), 36)
	r, err := s.call(ctx, call{
		script: &s.scripts.register, partition: partition, subject: c.Kind.EntryName(c.Key),
		keys: []any{k.timeKey, k.registered(c.Kind, c.Key), k.registeredBy(c.Kind), k.versions()},
		args: append([]any{c.Version, id, name, store.MaxRegistered, room.Max, room.Prefix()}, entry...),
	})
	return r, s.ofList(c.Kind, err)
}

// ofList returns a *store.ListError for an error that names the list of a kind. It returns other errors unchanged.
func (s *Store) ofList(kind store.RegistryKind, err error) error {
	var damaged *damagedKeyError
	if _, k := s.registryOf(kind, ""); errors.As(err, &damaged) && kind.Listed() && damaged.key == k.registeredBy(kind) {
		return &store.ListError{Kind: kind, Part: damaged}
	}
	return err
}

// registryOf returns the partition that keeps an entry, and its keys.
func (s *Store) registryOf(kind store.RegistryKind, key string) (int, *partitionKeys) {
	p := kind.Partition(key, s.layout.Partitions)
	return p, &s.keys.partitions[p]
}

// Registered implements store.Registry.
func (s *Store) Registered(ctx context.Context, kind store.RegistryKind, key string) (store.Registered, error) {
	if err := kind.CheckKey(key); err != nil {
		return store.Registered{}, err
	}
	partition, k := s.registryOf(kind, key)
	var stored *redis.StringCmd
	now, err := s.timedEach(ctx, partition, func(p redis.Pipeliner) { stored = p.Get(ctx, k.registered(kind, key)) })
	if err != nil {
		return store.Registered{}, fmt.Errorf("read %s: %w", kind.EntryName(key), err)
	}
	r, err := parseRegistered(kind, key, stored)
	if errors.Is(stored.Err(), redis.Nil) || err == nil && r.Gone(now) {
		return store.Registered{}, &store.Refusal{Code: store.NoSuch, Detail: strings.TrimPrefix(kind.EntryName(key), "the "), At: now}
	}
	r.At = now
	return r, err
}

// ListRegistered implements store.Registry.
func (s *Store) ListRegistered(ctx context.Context, c store.RegistryList) ([]store.Registered, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	partition, k := s.registryOf(c.Kind, "")
	var keys *redis.StringSliceCmd
	now, err := s.timedEach(ctx, partition, func(p redis.Pipeliner) { keys = p.ZRange(ctx, k.registeredBy(c.Kind), 0, -1) })
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", c.Kind, err)
	}
	if err := damage(keys); isWrongType(err) {
		return nil, s.ofList(c.Kind, err)
	}
	wanted := slices.Sorted(slices.Values(slices.DeleteFunc(keys.Val(), func(key string) bool { return !c.Has(key) })))
	var all []store.Registered
	for len(wanted) > 0 && (c.N == 0 || len(all) < c.N) { // values may be large: no more of them are read than are asked for
		n := len(wanted)
		if c.N > 0 {
			n = min(n, c.N)
		}
		some, err := s.registered(ctx, c.Kind, wanted[:n])
		if err != nil {
			return nil, err
		}
		all, wanted = append(all, c.Select(some, now)...), wanted[n:]
	}
	return c.Select(all, now), nil
}

// registered returns entries of a kind that can be listed, without expired ones.
func (s *Store) registered(ctx context.Context, kind store.RegistryKind, keys []string) (all []store.Registered, err error) {
	partition, k := s.registryOf(kind, "")
	stored := make([]*redis.StringCmd, len(keys))
	err = s.tolerant(ctx, partition, func(p redis.Pipeliner) {
		for n, key := range keys {
			stored[n] = p.Get(ctx, k.registered(kind, key))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	for n, key := range keys {
		if errors.Is(stored[n].Err(), redis.Nil) {
			continue // it expired, or was just deleted
		}
		one, err := parseRegistered(kind, key, stored[n])
		if err != nil {
			one = store.Registered{Key: key, Damaged: err}
		}
		all = append(all, one)
	}
	return all, nil
}

// parseRegistered reads an entry: its version, when it ends, which call has stored it, and its value.
func parseRegistered(kind store.RegistryKind, key string, stored *redis.StringCmd) (store.Registered, error) {
	parts := strings.SplitN(stored.Val(), " ", 4)
	if len(parts) != 4 || number(parts[0]) == 0 {
		return store.Registered{}, &store.Refusal{Code: store.Corrupt, Detail: kind.EntryName(key)}
	}
	return store.Registered{Key: key, Value: []byte(parts[3]), Version: number(parts[0]), Ends: store.Moment(number(parts[1]))}, nil
}
