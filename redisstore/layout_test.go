package redisstore_test

import (
	"context"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestLayout compares the package comment with the stored data: every key and field of the store is described, with its type, and
// everything described is present.
func TestLayout(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	fill(t, s)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	if err := client.ZRem(t.Context(), "swrun:{D:0}:new", "test/d").Err(); err != nil {
		t.Fatal(err)
	}
	damaged := client.HSet(t.Context(), "swrun:{D:0}:i:test/z", "k", "nonsense").Err()
	if err := errors.Join(damaged, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "swrun:{D:0}:index", Values: []string{"i", "test/z"}}).Err()); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Scrub(t.Context(), store.Scrub{N: 100}); err != nil || len(done.Repaired) != 1 || len(done.Unreadable) != 1 { // they are counted
		t.Fatal(done, err)
	}
	described := describedKeys(t)
	found := map[string]bool{}
	for _, key := range mustKeys(t, client) {
		pattern := describe(key)
		kind, ok := described[pattern]
		if got := client.Type(t.Context(), key).Val(); !ok || got != kind {
			t.Errorf("%s (%s) is a %s; the package comment says %q", key, pattern, got, kind)
		}
		if ttl := client.TTL(t.Context(), key).Val(); (ttl != -1) != slices.Contains([]string{"swrun:{D:p}:f:d:i", "swrun:{D:p}:f:d:i_k", "swrun:{D:p}:e:k:n", "swrun:{D:p}:b:q"}, pattern) {
			t.Errorf("%s has a TTL of %s; only the counts of families, this entry and what a rate counts end by themselves", key, ttl)
		}
		found[pattern] = true
	}
	for pattern := range described {
		if !found[pattern] {
			t.Errorf("%s is described, and was not there", pattern)
		}
	}
	for field := range client.HGetAll(t.Context(), "swrun:{D:0}:i:test/a").Val() {
		if !regexp.MustCompile(`^(k|m|l|s|h|c|[af]\d+)$`).MatchString(field) {
			t.Errorf("the field %s of an instance is not described", field)
		}
	}
}

// fill leaves something under every key.
func fill(t *testing.T, s *redisstore.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	must(s.Define(ctx, "key", []byte("data")))
	_, failed := s.Register(ctx, store.Registration{Kind: store.RegistryQueues, Key: "q", Value: []byte("v"), For: time.Hour})
	must(failed)
	_, failed = s.Permit(ctx, store.Permit{Queue: "q", Limit: store.QueueLimit{Rate: 1, Per: time.Hour}, Wanted: []string{"holder"}})
	must(failed)
	for _, id := range []string{"a", "b", "c", "d"} {
		_, err := s.Start(ctx, store.Start{
			Instance: store.Instance{Namespace: "test", ID: id}, Invocation: []byte("{}"),
			Family: store.Instance{Namespace: "test", ID: "family"}, FamilyMax: 10,
		})
		must(err)
	}
	claim := func(id string) store.Commit {
		i := store.Instance{Namespace: "test", ID: id}
		claimed, err := s.Claim(ctx, store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: "n" + id, Lease: time.Hour})
		must(err)
		return store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusRunning}
	}
	a := claim("a")
	a.Changes = interpreter.Changes{Head: []byte("h"), Context: []byte("c"), Frames: []interpreter.StoredFrame{{Key: 1, Data: []byte("f")}}}
	a.Entries, a.Outbox, a.Payloads = [][]byte{[]byte("e")}, [][]byte{[]byte("o")}, map[string][]byte{"r": []byte("p")}
	a.Activities = []store.ActivityChange{{Effect: 1, Queue: "mail", To: &store.Activity{Queue: "mail", Available: a.At, Due: a.At, Data: []byte("{}")}, Input: []byte("i")}}
	a.Asked = store.Asked{Of: a.Instance, Kind: store.AskedRuns, N: 1, Max: 1}
	_, err := s.Commit(ctx, a)
	must(err)
	must(s.Deliver(ctx, store.Delivery{To: a.Instance, ID: "m", Message: []byte("m")}))
	_, err = s.Start(ctx, store.Start{Instance: instance("e"), Invocation: []byte("{}"), Urgent: true})
	must(err)
	_, err = s.Start(ctx, store.Start{Instance: instance("f"), Invocation: []byte("{}"), Delay: time.Hour})
	must(err)
	_, err = s.Start(ctx, store.Start{Instance: instance("g"), Invocation: []byte("{}")})
	must(err)
	for range store.DefaultMaxDeaths {
		claim("g")
		_, err = s.Promote(ctx, store.Promote{Instances: []store.Instance{instance("g")}, Worker: "w", Died: true})
		must(err)
	}
	_, err = s.Start(ctx, store.Start{Instance: instance("h"), Invocation: []byte("{}")})
	must(err)
	needy := claim("h")
	needy.Listens = store.NewListens("", []interpreter.EventFilter{{Type: "t"}})
	needy.Release, needy.Retrying, needy.Needs = true, true, store.NewNeeds([]store.Need{store.NewNeed("processes")})
	_, err = s.Commit(ctx, needy)
	must(err)
	b := claim("b")
	b.Status, b.Reason = interpreter.StatusCompleted, "completed"
	_, err = s.Commit(ctx, b)
	must(err)
}

func mustKeys(t *testing.T, client *redis.Client) []string {
	t.Helper()
	keys, err := client.Keys(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// describe writes a key as the package comment does.
func describe(key string) string {
	key = strings.NewReplacer("e:queues:q", "e:k:n", "test/a runs", "i_k", "r:queues", "r:k", ":q:mail test", ":q:q_n").Replace(key)
	key = regexp.MustCompile(`:f:\d+:`).ReplaceAllString(strings.Replace(key, "{D:0}", "{D:p}", 1), ":f:d:")
	return regexp.MustCompile(`test/\w+$`).ReplaceAllString(key, "i")
}

// describedKeys reads keys and types from the package comment.
func describedKeys(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(swrun:\S+) +(string|hash|list|set|zset|stream) `).FindAllStringSubmatch(string(text), -1) {
		keys[m[1]] = m[2]
	}
	return keys
}

// TestLostWritesAreNoticed (F21, F22): a server that lost confirmed writes is detected by the next call, and works again after the loss was
// accepted.
func TestLostWritesAreNoticed(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	start := func(id string) error {
		_, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: id}, Invocation: []byte("{}")})
		return err
	}
	for _, id := range []string{"a", "b"} {
		if err := start(id); err != nil {
			t.Fatal(err)
		}
	}
	redistest.EditTime(t, client, "swrun:{D:0}:time", func(m *redistest.Time) { m.Writes = 1 }) // as a restored backup has it
	if err := start("c"); store.RefusedAs(err) != store.RolledBack {
		t.Fatalf("got %v", err)
	}
	if done, err := s.Scrub(t.Context(), store.Scrub{N: 100, Adopt: true, Loss: true}); err != nil || !done.Adopted {
		t.Fatal(done, err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{{Namespace: "test", ID: "a"}}, Worker: "w", Nonce: "n", Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	if done, err := s.Scrub(t.Context(), store.Scrub{N: 100, Adopt: true, Loss: true}); err != nil || done.Adopted { // another has adopted it
		t.Fatal(done, err)
	}
	if renewed, err := s.Renew(t.Context(), store.Renew{Worker: "w", Partitions: []int{0}, Lease: time.Hour}); err != nil || len(renewed) != 1 {
		t.Errorf("what was claimed since is lost: %v, %v", renewed, err)
	}
	if err := start("c"); err != nil {
		t.Error(err)
	}
	if st, err := s.Statistics(t.Context(), 0); err != nil || st.Losses != 1 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}

// drift counts the errors in the only partition, some entries at a time.
func drift(t *testing.T, s *redisstore.Store, page int) (wrong int) {
	t.Helper()
	for request := (store.Drift{N: page}); ; {
		found, err := s.Drift(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		wrong += found.Wrong
		if request.Compared = found.Compared; request.Compared == 0 {
			return wrong
		}
	}
}

// TestDriftIsRepaired (F31): single entries of the indexes are lost or doubled, and scrubbing puts them right.
func TestDriftIsRepaired(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	fill(t, s)
	for n, harm := range []func() error{
		func() error { return client.SRem(t.Context(), "swrun:{D:0}:quarantined", "test/g").Err() },
		func() error { return client.SAdd(t.Context(), "swrun:{D:0}:quarantined", "test/a").Err() },
		func() error { return client.ZRem(t.Context(), "swrun:{D:0}:new", "test/c").Err() },
		func() error { return client.ZRem(t.Context(), "swrun:{D:0}:held", "test/a w").Err() },
		func() error { return client.ZRem(t.Context(), "swrun:{D:0}:closed", "test/b").Err() },
		func() error {
			return client.ZAdd(t.Context(), "swrun:{D:0}:begun", redis.Z{Score: 1, Member: "test/b"}).Err()
		},
		func() error {
			return client.ZAdd(t.Context(), "swrun:{D:0}:held", redis.Z{Score: 1, Member: "test/a w"}).Err()
		},
		func() error {
			return client.ZAdd(t.Context(), "swrun:{D:0}:held", redis.Z{Score: math.Inf(1), Member: "test/a v"}).Err()
		},
		func() error {
			return client.ZAdd(t.Context(), "swrun:{D:0}:waiting", redis.Z{Score: math.Inf(1), Member: "test/d"}).Err()
		},
		func() error {
			return client.ZAdd(t.Context(), "swrun:{D:0}:closed", redis.Z{Score: 2, Member: "test/b"}).Err()
		},
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		want := []int{0, 0, 1, 1, 1, 2, 1, 2, 2, 1}[n] // a duplicate is at a wrong place, and superfluous; only scrubbing checks the quarantined runs
		for _, page := range []int{1, 2, 100} {
			if wrong := drift(t, s, page); wrong != want {
				t.Errorf("%d are wrong after harm %d, want %d", wrong, n+1, want)
			}
		}
		for n, want := range []int{1, 0} {
			done, err := s.Scrub(t.Context(), store.Scrub{N: 100})
			if err != nil || len(done.Repaired) != want {
				t.Errorf("scrub %d repaired %q, %v", n+1, done.Repaired, err)
			}
		}
		if wrong := drift(t, s, 100); wrong != 0 {
			t.Errorf("%d are still wrong after harm %d", wrong, n+1)
		}
		if counted, err := s.Statistics(t.Context(), 0); err != nil || counted.Repairs != int64(n+1) { // promises 121
			t.Errorf("after harm %d, %d repairs are counted: %v", n+1, counted.Repairs, err)
		}
	}
}

// TestDriftInACluster: errors are found too if the server does not allow reading many records in one call.
func TestDriftInACluster(t *testing.T) {
	url := redistest.Cluster(t, 3)
	s := mustOpen(t, url, redisstore.Config{Deployment: "D", Partitions: 1})
	fill(t, s)
	options, err := redis.ParseClusterURL(strings.Replace(url, "redis+cluster:", "redis:", 1))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(options)
	defer client.Close() // the servers are gone then
	wantPlaces(t, s, client)
	if wrong := drift(t, s, 2); wrong != 0 {
		t.Errorf("%d are wrong", wrong)
	}
	if err := client.ZAdd(t.Context(), "swrun:{D:0}:held", redis.Z{Score: 1, Member: "test/a w"}).Err(); err != nil {
		t.Fatal(err)
	}
	if wrong := drift(t, s, 2); wrong != 1 {
		t.Errorf("%d are wrong, want 1", wrong)
	}
}

// TestCorruptRecordsStayApart: an unreadable record is put aside, and other runs continue.
func TestCorruptRecordsStayApart(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	fill(t, s)
	record := client.HGet(t.Context(), "swrun:{D:0}:i:test/c", "k").Val()
	for n, damaged := range []string{"nonsense", strings.Replace(record, " 0 ", " x ", 1)} {
		if err := client.HSet(t.Context(), "swrun:{D:0}:i:test/c", "k", damaged).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.ZAdd(t.Context(), "swrun:{D:0}:new", redis.Z{Score: 1, Member: "test/c"}).Err(); err != nil {
			t.Fatal(err)
		}
		work, err := s.Poll(t.Context(), 0, 10, false)
		if err != nil {
			t.Fatal(err)
		}
		claimed, err := s.Claim(t.Context(), store.Claim{Instances: work.New, Worker: "w", Nonce: "n", Lease: time.Hour})
		if err != nil || len(claimed) != 1-n {
			t.Errorf("of %v, claimed %v, %v", work.New, claimed, err)
		}
		if work, err := s.Poll(t.Context(), 0, 10, false); err != nil || len(work.New) != 0 {
			t.Errorf("still new are %v, %v", work.New, err)
		}
	}
}

// TestHeldWithoutALease: a run is taken from an owner without a lease, since the end of the lease would never be seen.
func TestHeldWithoutALease(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	fill(t, s)
	if err := client.Del(t.Context(), "swrun:{D:0}:leases").Err(); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Scrub(t.Context(), store.Scrub{N: 100}); err != nil || !strings.Contains(strings.Join(done.Repaired, "\n"), "test/a: was held by w, which has no lease") {
		t.Errorf("repaired %q, %v", done.Repaired, err)
	}
	if work, err := s.Poll(t.Context(), 0, 10, false); err != nil || !slices.Contains(work.Begun, instance("a")) {
		t.Errorf("ready are %v, %v", work.Begun, err)
	}
}
