package redisstore_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestStrayMembers: foreign members in the sets of runs, which name no run or a run of another partition, are removed. They hide no run,
// and the other partition can still be used.
func TestStrayMembers(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 4})
	all := map[int]store.Instance{}
	for n := 0; len(all) < 4; n++ {
		i := store.Instance{Namespace: "test", ID: fmt.Sprint("r", n)}
		if all[i.Partition(4)] != (store.Instance{}) {
			continue
		}
		all[i.Partition(4)] = i
		if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	const many = 20
	scores := []float64{math.Inf(-1), -1e300, -1, 0, 1}
	for _, set := range store.Sets() {
		strays := []redis.Z{{Member: "", Score: math.Inf(-1)}, {Member: all[2].String(), Score: -1}, {Member: all[3].String() + " w", Score: -1}}
		for n := range many {
			for _, form := range []string{"rubbish%d", "a/b c%d d", "/%d", "%d/", "x/\xff%d", "test/none%d"} {
				strays = append(strays, redis.Z{Member: fmt.Sprintf(form, n), Score: scores[n%len(scores)]})
			}
		}
		client.ZAdd(t.Context(), "swrun:{D:1}:"+string(set), strays...)
	}
	for range 200 {
		w, err := s.Poll(t.Context(), 1, 3, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Promote(t.Context(), store.Promote{Partition: 1, Instances: w.Due}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Remove(t.Context(), store.Remove{Partition: 1, Instances: w.Expired}); err != nil {
			t.Fatal(err)
		}
		claimed, err := s.Claim(t.Context(), store.Claim{Partition: 1, Instances: append(w.New, w.Begun...), Worker: "w", Lease: 1e9})
		if err != nil {
			t.Fatal(err)
		}
		if len(claimed) == 1 && claimed[0].Instance == all[1] && client.ZCard(t.Context(), "swrun:{D:1}:closed").Val() == 0 {
			break
		}
	}
	for _, set := range []store.Set{store.SetNew, store.SetBegun, store.SetClosed, store.SetWaiting} {
		if left := client.ZRange(t.Context(), "swrun:{D:1}:"+string(set), 0, -1).Val(); len(left) > 0 {
			t.Errorf("in %s are left: %q", set, left)
		}
	}
	if l, err := s.Load(t.Context(), all[1]); err != nil || l.Lifecycle.Owner != "w" {
		t.Errorf("the run is not claimed: %+v, %v", l.Lifecycle, err)
	}
	if is, err := s.Statistics(t.Context(), 1); err != nil || is.Repairs == 0 {
		t.Errorf("the removed members do not count as repairs: %+v, %v", is, err)
	}
	for p := range 4 {
		if _, err := s.Poll(t.Context(), p, 3, true); err != nil {
			t.Errorf("partition %d: %v", p, err)
		}
	}
}
