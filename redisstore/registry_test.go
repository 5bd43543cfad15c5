package redisstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestRegistrationIsRepeated: if the answer that an entry was stored or deleted is lost, the same call is answered so again.
func TestRegistrationIsRepeated(t *testing.T) {
	server := redistest.Start(t)
	line := newLine(t, server.Addr)
	far := mustOpen(t, "redis://"+line.addr, redisstore.Config{Partitions: 1})
	entry := store.Registration{Kind: store.RegistryTokens, Key: "k", Value: []byte("v")}
	line.cut.Store(true)
	first, err := far.Register(t.Context(), entry)
	if err != nil || line.cut.Load() {
		t.Fatalf("got %v; was a line cut: %v", err, !line.cut.Load())
	}
	line.cut.Store(true)
	entry.Version = first.Version
	second, err := far.Register(t.Context(), entry)
	if err != nil || line.cut.Load() || second.Version == first.Version {
		t.Fatalf("replaced: %v; was a line cut: %v", err, !line.cut.Load())
	}
	if got, err := far.Registered(t.Context(), entry.Kind, "k"); err != nil || got.Version != second.Version {
		t.Errorf("got %+v, %v", got, err)
	}
	line.cut.Store(true)
	if err := far.Unregister(t.Context(), entry.Kind, "k", second.Version); err != nil || line.cut.Load() {
		t.Errorf("deleted: %v; was a line cut: %v", err, !line.cut.Load())
	}
}

// TestKeysWithoutAnEntryTakeNoRoom: a list full of keys without an entry leaves room for as many entries as an empty one, and loses the keys.
func TestKeysWithoutAnEntryTakeNoRoom(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	var foreign []redis.Z
	for n := range 2 * store.MaxRegistered {
		foreign = append(foreign, redis.Z{Score: 1e15, Member: fmt.Sprint("demo/x", n)})
	}
	for _, kind := range []store.RegistryKind{store.RegistrySchedules, store.RegistryTokens} {
		for _, key := range []string{"demo/a", "demo/b"} {
			if _, err := s.Register(t.Context(), store.Registration{Kind: kind, Key: key, Value: []byte("v")}); err != nil {
				t.Error(err)
			}
			if key == "demo/a" {
				if err := client.ZAdd(t.Context(), "swrun:{D:0}:r:"+string(kind), foreign...).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := client.ZRange(t.Context(), "swrun:{D:0}:r:"+string(kind), 0, -1).Val(); !slices.Equal(got, []string{"demo/a", "demo/b"}) {
			t.Errorf("%s: the list has %d keys", kind, len(got))
		}
	}
}

// TestRepliesAreSpread: entries that are not listed are in many partitions, and leave nothing behind when they end.
func TestRepliesAreSpread(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D"})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	partitions := map[int]bool{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		partitions[store.RegistryReplies.Partition(key, s.Layout().Partitions)] = true
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryReplies, Key: key, Value: []byte("v"), For: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	if len(partitions) < 4 {
		t.Errorf("8 entries are in %d partitions", len(partitions))
	}
	for _, key := range mustKeys(t, client) {
		if kind := client.Type(t.Context(), key).Val(); kind != "string" {
			t.Errorf("%s is a %s, which may grow without an end", key, kind)
		}
	}
}
