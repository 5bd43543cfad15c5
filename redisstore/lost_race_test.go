package redisstore_test

import (
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestLostActivityScheduledAtOnce (I4): a lost activity that is scheduled again immediately stays in its queue, although the operation that
// noticed the loss has not returned yet.
func TestLostActivityScheduledAtOnce(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	other := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	waitingActivity(t, s)
	for round := range 100 {
		if err := client.HDel(t.Context(), "swrun:{D:0}:i:test/x", "a4").Err(); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { scheduleAtOnce(t, other) })
		both.Go(func() {
			asked := store.ChangeActivities{Activities: []store.ActivityID{{Run: instance("x"), Effect: 4}}, Operation: refusing{}}
			if changed, err := s.ChangeActivities(t.Context(), asked); err != nil || store.RefusedAs(changed[0].Refused) != store.NoSuch {
				t.Errorf("changed %v, %v", changed, err)
			}
		})
		both.Wait()
		offered, err := s.Available(t.Context(), store.Available{Queues: []string{"mail"}, N: 10})
		if err != nil || len(offered.Activities) != 1 {
			t.Fatalf("round %d: offered are %v, %v", round, offered.Activities, err)
		}
	}
}

// scheduleAtOnce claims the run x as soon as it is ready, and schedules its activity.
func scheduleAtOnce(t *testing.T, s *redisstore.Store) {
	for t.Context().Err() == nil {
		claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{instance("x")}, Worker: "w", Nonce: "n", Lease: 10e9})
		if err != nil {
			t.Error(err)
			return
		}
		if len(claimed) == 1 {
			schedule(t, s, claimed[0])
			return
		}
	}
}
