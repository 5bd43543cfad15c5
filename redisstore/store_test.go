package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/storetest"
)

const partitions = 4

// TestContract runs the contract on one server.
func TestContract(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes")
	contract(t, server.URL(), redis.NewClient(&redis.Options{Addr: server.Addr}))
}

// TestContractOnCluster runs the contract on a cluster of three.
func TestContractOnCluster(t *testing.T) {
	url := redistest.Cluster(t, 3)
	o, err := redis.ParseClusterURL(strings.Replace(url, "redis+cluster", "redis", 1))
	if err != nil {
		t.Fatal(err)
	}
	contract(t, url, redis.NewClusterClient(o))
}

// contract gives each case a deployment of its own, whose time the case moves by the partitions' offsets.
func contract(t *testing.T, url string, client redis.UniversalClient) {
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	var deployments atomic.Int64
	t.Run("", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Opened {
			name := fmt.Sprintf("d%d", deployments.Add(1))
			s := mustOpen(t, url, redisstore.Config{Deployment: name, Partitions: partitions})
			return storetest.Opened{Store: s, Advance: func(d time.Duration) {
				for p := range partitions {
					advance(t, client, fmt.Sprintf("swrun:{%s:%d}:time", name, p), d)
				}
			}}
		})
	})
}

// advance moves a partition's time as if another process had written in between. Otherwise it would be a jump of the server's clock.
func advance(t *testing.T, client redis.UniversalClient, key string, d time.Duration) {
	t.Helper()
	redistest.EditTime(t, client, key, func(m *redistest.Time) {
		m.Offset += d.Milliseconds()
		m.Written = time.Now().UnixMilli() + m.Offset
	})
}

func mustOpen(t *testing.T, url string, c redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), url, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestLayoutIsFixed: the number of partitions is written once, and taken from there when it is not given.
func TestLayoutIsFixed(t *testing.T) {
	server := redistest.Start(t)
	mustOpen(t, server.URL()+"?partitions=8", redisstore.Config{})
	if got := mustOpen(t, server.URL(), redisstore.Config{}).Layout().Partitions; got != 8 {
		t.Errorf("opened with %d partitions", got)
	}
	if _, err := redisstore.Open(t.Context(), server.URL(), redisstore.Config{Partitions: 9}); err == nil {
		t.Error("opened with another number of partitions")
	}
	if got := mustOpen(t, server.URL()+"?deployment=other", redisstore.Config{}).Layout(); got.Partitions != store.DefaultPartitions {
		t.Errorf("another deployment is %+v", got)
	}
}

// TestRoomForWhatIsUnderWay (F17b): a server whose memory is nearly full refuses new runs, and runs in progress continue. When it is full,
// pending runs are not even claimed, except runs that have begun, or are to end, and nothing is lost.
func TestRoomForWhatIsUnderWay(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	defer client.Close() // the server is gone then
	fill := func(share float64) *redisstore.Store {
		s := mustOpen(t, server.URL(), redisstore.Config{Partitions: 1})
		facts, err := s.Facts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := client.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(int64(float64(facts.Memory)/share))).Err(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, server.URL(), redisstore.Config{Partitions: 1}) // which asks anew
	}
	start := func(s *redisstore.Store, id string) error {
		_, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: id}, Invocation: []byte("{}")})
		return err
	}
	s := fill(0.5)
	for _, id := range []string{"a", "b"} {
		if err := start(s, id); err != nil {
			t.Fatal(err)
		}
	}
	s = fill(0.9)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Start(ended, store.Start{Instance: store.Instance{Namespace: "test", ID: "c"}, Invocation: []byte("{}")}); err == nil {
		t.Error("a start succeeds whose caller has gone")
	}
	if err := start(s, "c"); !errors.As(err, new(*redisstore.FullError)) { // a start that was requested before
		t.Errorf("got %v", err)
	}
	if err := start(s, "a"); err != nil {
		t.Errorf("what is there cannot be started again: %v", err)
	}
	claim := func(s *redisstore.Store, id string) ([]store.Claimed, error) {
		return s.Claim(t.Context(), store.Claim{Instances: []store.Instance{{Namespace: "test", ID: id}}, Worker: "w", Nonce: id, Lease: time.Hour})
	}
	claimed, err := claim(s, "a")
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	s = fill(1.5) // more than full
	if _, err := claim(s, "b"); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("got %v", err)
	}
	order := func(id string, v store.Verb) error {
		return s.Command(t.Context(), store.Command{To: store.Instance{Namespace: "test", ID: id}, ID: id + string(v), Verb: v, Message: []byte("{}")})
	}
	if err := order("b", store.VerbSuspend); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("suspended: %v", err)
	}
	if err := order("b", store.VerbCancel); err != nil {
		t.Errorf("it cannot be cancelled: %v", err)
	}
	if claimed, err := claim(s, "b"); err != nil || len(claimed) != 1 || len(claimed[0].Inbox) != 1 {
		t.Errorf("what is to be cancelled cannot be taken: %v, %v", claimed, err)
	}
	c := store.Commit{Instance: claimed[0].Instance, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: "completed", Reason: "completed", Entries: [][]byte{[]byte("{}")}}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Errorf("what is under way cannot end: %v", err)
	}
	s = fill(0.5)
	if err := start(s, "d"); err != nil {
		t.Error(err)
	}
	if claimed, err := claim(s, "d"); err != nil || len(claimed) != 1 {
		t.Errorf("got %v, %v", claimed, err)
	}
}

// TestUnsafeServersAreRefused: a server that would lose data is not used.
func TestUnsafeServersAreRefused(t *testing.T) {
	evicting := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	_, err := redisstore.Open(t.Context(), evicting.URL(), redisstore.Config{})
	if err == nil || !strings.Contains(err.Error(), "maxmemory-policy noeviction") {
		t.Errorf("got %v", err)
	}
	for _, command := range []string{"ltrim", "time", "evalsha"} {
		weak := redistest.Start(t, "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-"+command)
		if _, err = redisstore.Open(t.Context(), weak.URL(), redisstore.Config{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), command) {
			t.Errorf("a user without %s: %v", command, err)
		}
	}
	for _, c := range []struct {
		args []string
		want redisstore.Durability
	}{
		{nil, redisstore.DurabilityMemory},
		{[]string{"--appendonly", "yes"}, redisstore.DurabilityEverysec},
		{[]string{"--appendonly", "yes", "--appendfsync", "always"}, redisstore.DurabilityFsync},
	} {
		server := redistest.Start(t, c.args...)
		facts, err := mustOpen(t, server.URL(), redisstore.Config{Require: c.want}).Facts(t.Context())
		if err != nil || facts.Durability != c.want {
			t.Errorf("%v gives %+v, %v", c.args, facts, err)
		}
		_, err = redisstore.Open(t.Context(), server.URL(), redisstore.Config{Require: redisstore.DurabilityFsync})
		if (err == nil) != (c.want == redisstore.DurabilityFsync) {
			t.Errorf("%v with fsync required: %v", c.args, err)
		}
	}
}
