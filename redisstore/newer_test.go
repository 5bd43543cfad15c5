package redisstore_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
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
			s, client := mustOpenWithClient(t)
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

// TestNeedOfANewerBuild: a run of a newer swrun that waits for a need is not offered to this build, and newer workers find it still.
func TestNeedOfANewerBuild(t *testing.T) {
	s, client := mustOpenWithClient(t)
	need := store.NewNeed("queue:gpu")
	if _, err := s.Start(t.Context(), store.Start{Instance: instance("x"), Invocation: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{instance("x")}, Worker: "w", Nonce: "n", Lease: time.Minute})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	c := store.Commit{Instance: instance("x"), Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusWaiting, Release: true, Needs: store.NewNeeds([]store.Need{need})}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	const key, index = "swrun:{D:0}:i:test/x", "swrun:{D:0}:needs"
	record := client.HGet(t.Context(), key, "k").Val()
	for _, is := range []struct {
		record  string
		offered int
		left    int64
	}{{"99 waiting - x", 0, 1}, {record, 1, 1}, {"rubbish", 0, 0}} {
		client.HSet(t.Context(), key, "k", is.record)
		offered, err := s.Needing(t.Context(), store.Needing{Need: need, N: 10})
		if left := client.ZCard(t.Context(), index).Val(); err != nil || len(offered) != is.offered || left != is.left {
			t.Errorf("%q: offered %v, %v; the index has %d entries", is.record, offered, err, left)
		}
	}
}

// TestStartWhileItsPlaceIsCleared: a run that starts stays in its place, although another process has just found that there is no run of
// this name.
func TestStartWhileItsPlaceIsCleared(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	other := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	for round := range 300 {
		i := instance("r" + strconv.Itoa(round))
		var clearing sync.WaitGroup
		for range 4 {
			clearing.Go(func() {
				for range 5 {
					if _, err := other.Promote(t.Context(), store.Promote{Instances: []store.Instance{i}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		clearing.Wait()
		if err := client.ZScore(t.Context(), "swrun:{D:0}:new", i.String()).Err(); err != nil {
			t.Fatalf("round %d: the run is not among the new ones: %v", round, err)
		}
	}
}

// TestStartOverARunWithoutARecord: a run whose record was deleted is damaged. No run of its name starts over what is left of it.
func TestStartOverARunWithoutARecord(t *testing.T) {
	s, client := mustOpenWithClient(t)
	waitingActivity(t, s)
	const key = "swrun:{D:0}:i:test/x"
	client.HDel(t.Context(), key, "k")
	before := client.HGetAll(t.Context(), key).String()
	_, err := s.Start(t.Context(), store.Start{Instance: instance("x"), Invocation: []byte(`{"other":1}`)})
	if err == nil {
		t.Error("a run started over the rest of another one")
	}
	if after := client.HGetAll(t.Context(), key).String(); after != before {
		t.Errorf("%s, was %s; %v", after, before, err)
	}
}

// TestDamagedEntry: an entry of the registry that cannot be read is only replaced or deleted by a call that does not care what is there.
func TestDamagedEntry(t *testing.T) {
	s, client := mustOpenWithClient(t)
	const key = "swrun:{D:0}:e:tokens:k"
	for _, text := range []string{"rubbish", "0 0 x 1 {}", ""} {
		if err := client.Set(t.Context(), key, text, 0).Err(); err != nil {
			t.Fatal(err)
		}
		for _, version := range []int64{0, 1} {
			_, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryTokens, Key: "k", Value: []byte("v"), Version: version})
			if code := store.RefusedAs(err); code != store.Corrupt {
				t.Errorf("%q: registered: %v", text, err)
			}
			if err := s.Unregister(t.Context(), store.RegistryTokens, "k", version); store.RefusedAs(err) != store.Conflict {
				t.Errorf("%q: unregistered: %v", text, err)
			}
		}
		if is, err := client.Get(t.Context(), key).Result(); err != nil || is != text {
			t.Errorf("%q: is %q, %v", text, is, err)
		}
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryTokens, Key: "k", Value: []byte("v"), Version: store.AnyVersion}); err != nil {
			t.Error(err)
		}
	}
}

// TestActivityOfANewerBuildIsNotLost: repairs count an activity that a newer swrun has written among those that a run waits for.
func TestActivityOfANewerBuildIsNotLost(t *testing.T) {
	const key = "swrun:{D:0}:i:test/x"
	for text, want := range map[string]int{"99 x": 0, "rubbish": 1} {
		s, client := mustOpenWithClient(t)
		waitingActivity(t, s)
		client.HSet(t.Context(), key, "a4", text)
		client.Del(t.Context(), "swrun:{D:0}:activities")
		done, err := s.Scrub(t.Context(), store.Scrub{N: 10})
		if err != nil || len(done.Repaired) != want {
			t.Errorf("%q: repaired %q, %v", text, done.Repaired, err)
		}
	}
}

// TestUndefineBesideOthers: a definition is removed although others are stored at the same time.
func TestUndefineBesideOthers(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	other := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	stop := make(chan struct{})
	var storing sync.WaitGroup
	storing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := other.Define(t.Context(), "other"+strconv.Itoa(n), []byte("d")); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		if err := s.Define(t.Context(), "x", []byte("d")); err != nil {
			t.Fatal(err)
		}
		if err := s.Undefine(t.Context(), "x", []byte("d")); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	storing.Wait()
}
