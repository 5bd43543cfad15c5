package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Meta is what the field "now" of a partition's meta says (the layout of package redisstore), in milliseconds.
type Meta struct {
	Written, Writes, Offset int64
}

// EditMeta changes the meta of a partition, which nobody else may write to meanwhile.
func EditMeta(t testing.TB, client redis.UniversalClient, key string, edit func(*Meta)) {
	t.Helper()
	ctx := context.Background()
	text, err := client.HGet(ctx, key, "now").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	var m Meta
	if _, err := fmt.Sscan(text, &m.Written, &m.Writes, &m.Offset); text != "" && err != nil {
		t.Fatalf("%s is %q: %v", key, text, err)
	}
	edit(&m)
	if err := client.HSet(ctx, key, "now", fmt.Sprintf("%d %d %d", m.Written, m.Writes, m.Offset)).Err(); err != nil {
		t.Fatal(err)
	}
}
