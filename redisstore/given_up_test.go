package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestAnswerAfterTheCallerGaveUp: if its caller gives up, a change that was sent still returns its outcome, if the server answers soon.
func TestAnswerAfterTheCallerGaveUp(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	start := func(ctx context.Context, id string) error {
		_, err := s.Start(ctx, store.Start{Instance: instance(id), Invocation: []byte("{}")})
		return err
	}
	if err := start(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	if err := client.Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx, "late") }()
	for !strings.Contains(client.ClientList(t.Context()).Val(), "flags=b ") { // the server has it, and has not carried it out
		time.Sleep(time.Millisecond)
	}
	giveUp()
	if err := client.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the start that was carried out ended with %v", err)
	}
	if _, err := s.Load(t.Context(), instance("late")); err != nil {
		t.Error(err)
	}
}
