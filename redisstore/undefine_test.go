package redisstore

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// busy is a hook of a client that stores another definition before each transaction.
type busy struct {
	by     *redis.Client
	stores *int
}

func (busy) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (busy) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (b busy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		*b.stores++
		if err := b.by.HSet(ctx, "swrun:{D}:definitions", "other", strconv.Itoa(*b.stores)).Err(); err != nil {
			return err
		}
		return next(ctx, commands)
	}
}

// TestUndefineBesideManyOthers: a definition that cannot be removed because others change all the time is refused with a reason.
func TestUndefineBesideManyOthers(t *testing.T) {
	server := redistest.Start(t)
	s, err := Open(t.Context(), server.URL(), Config{Deployment: "D", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Define(t.Context(), "x", []byte("d")); err != nil {
		t.Fatal(err)
	}
	by, stores := redis.NewClient(&redis.Options{Addr: server.Addr}), 0
	t.Cleanup(func() { by.Close() })
	s.client.AddHook(busy{by, &stores})
	if err := s.Undefine(t.Context(), "x", []byte("d")); store.RefusedAs(err) != store.Conflict || stores < maxAttempts {
		t.Errorf("after %d definitions: %v", stores, err)
	}
}
