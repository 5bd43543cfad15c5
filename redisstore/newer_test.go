package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestRunOfANewerBuildWithActivities: a run of a newer swrun is reported as such, and stays in its place, although it has parts that this
// build can read. The order in which the parts are read is chance.
func TestRunOfANewerBuildWithActivities(t *testing.T) {
	const key = "swrun:{D:0}:i:test/x"
	for name, newer := range map[string][]any{
		"record":   {"HSET", key, "k", "99 waiting - x"},
		"activity": {"HSET", key, "a4", "99 x"},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
			client := redis.NewClient(&redis.Options{Addr: server.Addr})
			t.Cleanup(func() { _ = client.Close() })
			waitingActivity(t, s)
			activity := client.HGet(t.Context(), key, "a4").Val()
			client.HSet(t.Context(), key, "a5", activity, "a6", activity, "a7", activity)
			if err := client.Do(t.Context(), newer...).Err(); err != nil {
				t.Fatal(err)
			}
			before := client.ZRangeWithScores(t.Context(), "swrun:{D:0}:waiting", 0, -1).String()
			for range 50 {
				if l, err := s.Load(t.Context(), instance("x")); store.RefusedAs(err) != store.Newer && !form.IsNewer(l.Newer) {
					t.Fatalf("loaded %+v, %v", l, err)
				}
				var told []store.Unreadable
				claimed, err := s.Claim(t.Context(), store.Claim{
					Instances: []store.Instance{instance("x")}, Worker: "w", Nonce: "n", Lease: time.Minute,
					Unreadable: func(u store.Unreadable) { told = append(told, u) },
				})
				if err != nil || len(claimed) > 0 || len(told) != 1 || store.RefusedAs(told[0].Err) != store.Newer {
					t.Fatalf("claimed %v, %v; told %v", claimed, err, told)
				}
			}
			if after := client.ZRangeWithScores(t.Context(), "swrun:{D:0}:waiting", 0, -1).String(); after != before {
				t.Errorf("the runs that wait are %s, were %s", after, before)
			}
		})
	}
}
