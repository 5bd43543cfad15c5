package redisstore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/storetest"
)

// manyBroken is more than the first members of a list that a worker reads.
const manyBroken = 250

// TestBrokenMembersHideNoActivity (I4): members that name no activity, and activities whose data cannot be read, hide neither a due activity
// nor an available one behind them.
func TestBrokenMembersHideNoActivity(t *testing.T) {
	const queue, due = "swrun:{D:0}:q:mail test", "swrun:{D:0}:activities"
	for name, record := range map[string][]any{
		"no activity":      nil,
		"not a hash":       {"SET", "rubbish"},
		"damaged run":      {"HSET", "k", "rubbish"},
		"newer run":        {"HSET", "k", "99 waiting - x"},
		"damaged activity": {"HSET", "a4", "rubbish"},
		"newer activity":   {"HSET", "a4", "99 x"},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := mustOpenWithClient(t)
			waitingActivity(t, s)
			client.ZAdd(t.Context(), due, redis.Z{Score: 100, Member: "test/x 4"}) // it is due
			for n := range manyBroken {
				member := fmt.Sprintf("rubbish %d", n)
				if record != nil {
					key := fmt.Sprintf("swrun:{D:0}:i:test/b%d", n)
					member = fmt.Sprintf("test/b%d 4", n)
					if name != "not a hash" {
						client.Copy(t.Context(), "swrun:{D:0}:i:test/x", key, 0, true)
					}
					if err := client.Do(t.Context(), slices.Concat([]any{record[0], key}, record[1:])...).Err(); err != nil {
						t.Fatal(err)
					}
				}
				client.ZAdd(t.Context(), due, redis.Z{Score: 1, Member: member})
				client.ZAdd(t.Context(), queue, redis.Z{Score: 1, Member: member})
			}
			x := store.ActivityID{Run: instance("x"), Effect: 4}
			if !storetest.TurnsUp(t, s, x, activity.Expire{}, func() ([]store.ActivityID, error) {
				w, err := s.Poll(t.Context(), 0, 100, true)
				return w.Activities, err
			}) {
				t.Error("the due activity is hidden")
			}
			if !storetest.TurnsUp(t, s, x, activity.Take{Nonce: "n", Worker: "w"}, func() ([]store.ActivityID, error) {
				offered, err := s.Available(t.Context(), store.Available{Queues: []string{"mail"}, N: 20})
				return offered.Activities, err
			}) {
				t.Error("the available activity is hidden")
			}
		})
	}
}

// TestNewerRunsHideNoRun: runs whose records a newer swrun has written hide neither a due run nor an expired one behind them, and no run whose owner hangs.
func TestNewerRunsHideNoRun(t *testing.T) {
	for _, set := range []store.Set{store.SetWaiting, store.SetHeld, store.SetClosed} {
		t.Run(string(set), func(t *testing.T) {
			s, client := mustOpenWithClient(t)
			for n := range manyBroken {
				i := instance(fmt.Sprint("b", n))
				client.HSet(t.Context(), "swrun:{D:0}:i:"+i.String(), "k", "99 waiting - x")
				client.ZAdd(t.Context(), "swrun:{D:0}:"+string(set), redis.Z{Score: 1, Member: memberOf(set, i)})
			}
			client.ZAdd(t.Context(), "swrun:{D:0}:"+string(set), redis.Z{Score: 2, Member: memberOf(set, instance("x"))})
			if !storetest.RunTurnsUp(t, s, instance("x")) {
				t.Error("the run is hidden")
			}
		})
	}
}

// memberOf returns the member of a run in a set.
func memberOf(set store.Set, i store.Instance) string {
	if set == store.SetHeld {
		return i.String() + " w"
	}
	return i.String()
}
