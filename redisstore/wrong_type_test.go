package redisstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestOverwrittenKeys: each key of a partition that was overwritten with another type is an error with its remedy when it is needed.
// Nothing panics, and the partition works again when the key is restored.
func TestOverwrittenKeys(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	if _, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: "a"}, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	all := []string{"index", "quarantined", "unreadable", "retrying", "outbox", "meta", "activities", "needs", "listeners", "queued", "seen", "notices", "leases", "versions", "q:q test"}
	if err := client.ZAdd(t.Context(), "swrun:{D:0}:queued", redis.Z{Member: "q test"}).Err(); err != nil {
		t.Fatal(err)
	}
	for _, set := range store.Sets() {
		all = append(all, string(set))
	}
	for _, name := range all {
		key := "swrun:{D:0}:" + name
		kept, err := client.Dump(t.Context(), key).Result()
		client.Del(t.Context(), key)
		if err := client.LPush(t.Context(), key, "rubbish").Err(); err != nil {
			t.Fatal(err)
		}
		use := func() (failed []error) {
			_, scrubbed := s.Scrub(t.Context(), store.Scrub{N: 100, Check: true})
			_, counted := s.Statistics(t.Context(), 0)
			_, polled := s.Poll(t.Context(), 0, 10, false)
			_, offered := s.Available(t.Context(), store.Available{N: 10})
			return slices.DeleteFunc([]error{scrubbed, counted, polled, offered}, func(err error) bool { return err == nil })
		}
		all := use()
		if len(all) == 0 {
			t.Errorf("%s: nothing tells that it is damaged", name)
		}
		for _, failed := range all {
			if a, known := s.Diagnose(failed); !strings.Contains(failed.Error(), key) || !known || a.Reason != store.Damaged || redisstore.Remedy(failed) == "" {
				t.Errorf("%s: %v: %+v", name, failed, a)
			}
		}
		client.Del(t.Context(), key)
		if err == nil {
			if err := client.Restore(t.Context(), key, 0, kept).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, failed := range use() {
			t.Errorf("%s is back: %v", name, failed)
		}
	}
}
