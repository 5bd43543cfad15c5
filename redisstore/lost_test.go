package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// mustOpenWithClient opens a store of one partition, D, on a Redis of its own, and returns a client of this Redis too.
func mustOpenWithClient(t *testing.T) (*redisstore.Store, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	return mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1}), client
}

// waitingActivity starts a run that waits for an activity.
func waitingActivity(t *testing.T, s *redisstore.Store) {
	t.Helper()
	if _, err := s.Start(t.Context(), store.Start{Instance: instance("x"), Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{instance("x")}, Worker: "w", Nonce: "n", Lease: 10e9})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	schedule(t, s, claimed[0])
}

// schedule commits that the run x waits for the activity 4.
func schedule(t *testing.T, s *redisstore.Store, claimed store.Claimed) {
	t.Helper()
	c := store.Commit{
		Instance: instance("x"), Token: claimed.Token, Version: claimed.Lifecycle.Version, Next: claimed.Lifecycle.Version + 1, At: claimed.At, Status: interpreter.StatusWaiting, Release: true, Awaits: 1,
	}
	to := &store.Activity{Queue: "mail", Available: c.At, Due: c.At.Add(3600e9), Data: []byte("{}")}
	c.Activities = []store.ActivityChange{{Effect: 4, Queue: "mail", To: to, Input: []byte("i")}}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// TestActivitiesAreListedAgain (I5): an activity at a wrong place, or at no place, is put where its record belongs.
func TestActivitiesAreListedAgain(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	waitingActivity(t, s)
	const queue, due, member = "swrun:{D:0}:q:mail test", "swrun:{D:0}:activities", "test/x 4"
	for name, harm := range map[string]func() error{
		"not in its queue":        func() error { return client.ZRem(t.Context(), queue, member).Err() },
		"at another time":         func() error { return client.ZAdd(t.Context(), queue, redis.Z{Score: 9e15, Member: member}).Err() },
		"in an unknown queue":     func() error { return client.ZRem(t.Context(), "swrun:{D:0}:queued", "mail test").Err() },
		"not among what is due":   func() error { return client.ZRem(t.Context(), due, member).Err() },
		"due at another time":     func() error { return client.ZAdd(t.Context(), due, redis.Z{Score: 9e15, Member: member}).Err() },
		"the indexes are lost":    func() error { return client.Del(t.Context(), queue, due, "swrun:{D:0}:queued").Err() },
		"nothing is wrong at all": nil,
	} {
		want := 0
		if harm != nil {
			want = 1
			if err := harm(); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{want, 0} {
			if done, err := s.Scrub(t.Context(), store.Scrub{N: 100}); err != nil || len(done.Repaired) != want {
				t.Errorf("%s: repaired %q, %v", name, done.Repaired, err)
			}
		}
		offered, err := s.Available(t.Context(), store.Available{Queues: []string{"mail"}, N: 10})
		if err != nil || len(offered.Activities) != 1 {
			t.Errorf("%s: offered are %v, %v", name, offered.Activities, err)
		}
	}
}

// TestLostActivities (I4): a run with a lost activity becomes ready, so that its owner schedules the activity again. This is done by the
// first operation that notices it: scrubbing, or taking or ending activities. While the run is held, it is checked again later.
func TestLostActivities(t *testing.T) {
	const key, field = "swrun:{D:0}:i:test/x", "a4"
	for name, lose := range map[string]func(c *redis.Client) error{
		"deleted":    func(c *redis.Client) error { return c.HDel(t.Context(), key, field).Err() },
		"unreadable": func(c *redis.Client) error { return c.HSet(t.Context(), key, field, "nonsense").Err() },
	} {
		for _, scrubbed := range []bool{false, true} {
			server := redistest.Start(t)
			s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
			client := redis.NewClient(&redis.Options{Addr: server.Addr})
			waitingActivity(t, s)
			if err := lose(client); err != nil {
				t.Fatal(err)
			}
			if scrubbed {
				done, err := s.Scrub(t.Context(), store.Scrub{N: 100})
				if err != nil || !strings.Contains(strings.Join(done.Repaired, "\n"), "test/x: activity 4 was lost") {
					t.Errorf("%s: repaired %q, %v", name, done.Repaired, err)
				}
			} else {
				asked := store.ChangeActivities{Activities: []store.ActivityID{{Run: instance("x"), Effect: 4}}, Operation: refusing{}}
				if changed, err := s.ChangeActivities(t.Context(), asked); err != nil || store.RefusedAs(changed[0].Refused) != store.NoSuch {
					t.Errorf("%s: changed %v, %v", name, changed, err)
				}
			}
			if left := client.Exists(t.Context(), "swrun:{D:0}:queued").Val(); left > 0 {
				t.Errorf("%s: the queue is empty, and is among the queues with activities", name)
			}
			work, err := s.Poll(t.Context(), 0, 10, false)
			if err != nil || len(work.Begun) != 1 || !work.Next.IsZero() {
				t.Errorf("%s: ready are %v, next is %s, %v", name, work.Begun, work.Next, err)
			}
			claimed, err := s.Claim(t.Context(), store.Claim{Instances: work.Begun, Worker: "w", Nonce: "m", Lease: 10e9})
			if err != nil || len(claimed) != 1 || len(claimed[0].Activities) != 0 {
				t.Errorf("%s: claimed %+v, %v", name, claimed, err)
			}
			client.Close() // the server is gone then
		}
	}
}

// refusing is an operation that comes across an activity that is not there.
type refusing struct{}

func (refusing) Once(store.ActivityID) string { return "" }

func (refusing) Transition(store.ActivityID, *store.Lifecycle, *store.Activity, time.Time) (*store.ActivityOutcome, store.Code) {
	return nil, store.NoSuch
}

// TestReasonsOfLackingRuns: Scrub names the same reason as List for a run without a record.
func TestReasonsOfLackingRuns(t *testing.T) {
	for name, damage := range map[string]func(*redis.Client) error{
		"only the payloads are left": func(c *redis.Client) error { return c.Del(t.Context(), "swrun:{D:0}:i:test/x").Err() },
		"only the inbox is left": func(c *redis.Client) error {
			return errors.Join(c.Del(t.Context(), "swrun:{D:0}:i:test/x", "swrun:{D:0}:h:test/x", "swrun:{D:0}:p:test/x").Err(), c.RPush(t.Context(), "swrun:{D:0}:n:test/x", "1").Err())
		},
		"the record is gone":    func(c *redis.Client) error { return c.HDel(t.Context(), "swrun:{D:0}:i:test/x", "k").Err() },
		"the record is damaged": func(c *redis.Client) error { return c.HSet(t.Context(), "swrun:{D:0}:i:test/x", "k", "rubbish").Err() },
	} {
		s, client := mustOpenWithClient(t)
		waitingActivity(t, s)
		if err := damage(client); err != nil {
			t.Fatal(err)
		}
		page, err := s.List(t.Context(), 0, "", 10)
		if err != nil || len(page.Unreadable) != 1 {
			t.Fatalf("%s: listed %v, %v", name, page.Unreadable, err)
		}
		for range 2 { // the second time it is counted among the unreadable runs
			done, err := s.Scrub(t.Context(), store.Scrub{N: 100})
			if err != nil || len(done.Unreadable) != 1 || done.Unreadable[0].Err.Error() != page.Unreadable[0].Err.Error() {
				t.Errorf("%s: Scrub names %v, %v, and List %v", name, done.Unreadable, err, page.Unreadable)
			}
		}
	}
}
