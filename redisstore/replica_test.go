package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestReplicaWithoutItsPrimary: a replica that is connected to its primary refuses only writes. When the primary is gone, and the replica
// does not serve stale data (replica-serve-stale-data no), it refuses everything, and reads return immediately. Each error contains its
// remedy.
func TestReplicaWithoutItsPrimary(t *testing.T) {
	primary, replica := redistest.Start(t), redistest.Start(t, "--replica-serve-stale-data", "no")
	client := redis.NewClient(&redis.Options{Addr: replica.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	s := mustOpen(t, replica.URL(), redisstore.Config{})
	host, port, _ := strings.Cut(primary.Addr, ":")
	client.ReplicaOf(t.Context(), host, port) // its answer is looked at by until
	until := func(refuses store.Refusing, fix string) {
		t.Helper()
		var all []store.Ailment
		for deadline := time.Now().Add(pacetest.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			all = s.Examine(t.Context())
			worst, mute := store.Mute(all)
			if mute && worst.Reason == store.ReadOnly && worst.Refuses == refuses && strings.Contains(worst.Fix, fix) {
				return
			}
		}
		t.Fatalf("%+v", all)
	}
	until(store.RefusesWrites, "name its primary")
	primary.Kill()
	until(store.RefusesAll, "whether the primary of this replica runs")
	err := client.Get(t.Context(), "a").Err()
	if a, known := s.Diagnose(err); !known || a.Reason != store.ReadOnly || a.Refuses != store.RefusesAll || redisstore.Remedy(err) != a.Fix {
		t.Errorf("%v: %+v", err, a)
	}
	if _, err := redisstore.Open(context.WithoutCancel(t.Context()), replica.URL(), redisstore.Config{}); err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("opened: %v", err)
	}
}
