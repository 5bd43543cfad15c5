package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Time contains the parts of the time of a partition (the layout of package redisstore), in milliseconds.
type Time struct {
	Written, Writes, Offset, Jumps int64
}

// EditTime changes the time of a partition. No other process may write to it concurrently.
func EditTime(t testing.TB, client redis.UniversalClient, key string, edit func(*Time)) {
	t.Helper()
	ctx := context.Background()
	text, err := client.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	var m Time
	if _, err := fmt.Sscan(text, &m.Written, &m.Writes, &m.Offset, &m.Jumps); text != "" && err != nil {
		t.Fatalf("%s is %q: %v", key, text, err)
	}
	edit(&m)
	if err := client.Set(ctx, key, fmt.Sprintf("%d %d %d %d", m.Written, m.Writes, m.Offset, m.Jumps), 0).Err(); err != nil {
		t.Fatal(err)
	}
}
