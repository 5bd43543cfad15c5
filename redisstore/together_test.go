package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestCommitsTogether: commits that one run of a script stores have each their own outcome.
func TestCommitsTogether(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	commitTogether(t, server.URL(), client, []*redis.Client{client})
}

// TestCommitsTogetherOnCluster: the same, where only commits of one partition can be stored together.
func TestCommitsTogetherOnCluster(t *testing.T) {
	url := redistest.Cluster(t, 3)
	o, err := redis.ParseClusterURL(strings.Replace(url, "redis+cluster", "redis", 1))
	if err != nil {
		t.Fatal(err)
	}
	cluster := redis.NewClusterClient(o)
	t.Cleanup(func() { cluster.Close() }) // the servers are gone then anyway
	var servers []*redis.Client
	var mu sync.Mutex
	if err := cluster.ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		servers = append(servers, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	commitTogether(t, url, cluster, servers)
}

// commitTogether commits to many runs concurrently while the servers are stopped, so that all but the first wait for each other.
func commitTogether(t *testing.T, url string, client redis.UniversalClient, servers []*redis.Client) {
	s := mustOpen(t, url, redisstore.Config{Deployment: "D", Partitions: partitions})
	var all []*together
	for _, kind := range togetherKinds(t, client) {
		for range 20 {
			all = append(all, newTogether(t, s, len(all), kind))
		}
	}
	if runs := runTogether(t, s, servers, all); runs > len(all)/2 {
		t.Errorf("%d commits took %d runs of scripts: they were not stored together", len(all), runs)
	}
	var damaged []*together
	for n := range 51 {
		kind := besideDamage
		if n == 25 {
			kind = damage(t, client)
		}
		damaged = append(damaged, newTogether(t, s, len(all)+n, kind))
	}
	before := writes(t, client)
	if runs := runTogether(t, s, servers, damaged); runs > len(damaged)/2 {
		t.Errorf("%d commits took %d runs of scripts because of one that is damaged", len(damaged), runs)
	}
	if written := writes(t, client) - before; written != 50 {
		t.Errorf("%d writes were counted, of 50", written)
	}
}

// writes returns how many writes all partitions have counted.
func writes(t *testing.T, client redis.UniversalClient) (n int64) {
	t.Helper()
	for p := range partitions {
		redistest.EditTime(t, client, fmt.Sprintf("swrun:{D:%d}:time", p), func(m *redistest.Time) { n += m.Writes })
	}
	return n
}

// TestCommitsTogetherWhereServersAreSeparate: with a server that is part of a cluster, but not named so in the URL, commits are stored
// together by partition after the server has reported this.
func TestCommitsTogetherWhereServersAreSeparate(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes")
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	if err := client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(client.ClusterInfo(t.Context()).Val(), "cluster_state:ok") {
		time.Sleep(10 * time.Millisecond)
	}
	commitTogether(t, server.URL(), client, []*redis.Client{client})
}

// runTogether commits to all runs concurrently, and returns the number of script runs.
func runTogether(t *testing.T, s *redisstore.Store, servers []*redis.Client, all []*together) (runs int) {
	t.Helper()
	for _, c := range servers {
		c.ConfigResetStat(t.Context())
		if err := c.ClientPause(t.Context(), 500*time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for range 3 { // pipelines that are on their way to each server: whatever comes next waits
		for p := range s.Layout().Partitions {
			runs--
			group.Go(func() { s.Drift(t.Context(), store.Drift{Partition: p, N: 1}) })
		}
	}
	time.Sleep(50 * time.Millisecond)
	for _, c := range all {
		group.Go(func() { c.done, c.err = s.Commit(t.Context(), c.commit) })
	}
	group.Wait()
	for _, c := range all {
		c.check(t, s)
	}
	for _, c := range servers {
		runs += scriptRuns(t, c)
	}
	return runs
}

// together is a commit among others.
type together struct {
	kind   togetherKind
	commit store.Commit
	done   store.Committed
	err    error
}

type togetherKind struct {
	name   string
	change func(*store.Commit) // the special part of the commit; nil for none
	before func(key string)    // what happens to the run before; nil for nothing
	want   store.Code          // expected refusal of the commit; empty for success
	fails  bool                // it fails as such
	status interpreter.Status  // of the run afterwards
}

func togetherKinds(t *testing.T, client redis.UniversalClient) []togetherKind {
	return []togetherKind{
		{name: "step", status: interpreter.StatusRunning},
		{name: "several changes", status: interpreter.StatusRunning, change: func(c *store.Commit) {
			c.Changes.Ended = []interpreter.FrameKey{1, 2}
			c.Changes.Context = []byte(`{"x":1}`)
			c.Entries = append(c.Entries, []byte(`{"e":"second"}`))
		}},
		{name: "end", status: interpreter.StatusCompleted, change: func(c *store.Commit) { c.Status = interpreter.StatusCompleted }},
		{name: "timer", status: interpreter.StatusRunning, change: func(c *store.Commit) { c.Wake = c.At.Add(time.Second) }},
		{name: "too late", want: store.TimedOut, status: interpreter.StatusRunning, change: func(c *store.Commit) { c.Guard = c.At }},
		{name: "too early", want: store.TooEarly, status: interpreter.StatusRunning, change: func(c *store.Commit) { c.At = c.At.Add(time.Hour) }},
		{name: "no version of this", want: store.Conflict, status: interpreter.StatusRunning, before: func(key string) {
			record := client.HGet(t.Context(), key, "k").Val()
			fields := strings.Fields(record)
			fields[6] = "7"
			if err := client.HSet(t.Context(), key, "k", strings.Join(fields, " ")).Err(); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// besideDamage is a commit to which nothing happens.
var besideDamage = togetherKind{name: "beside damage", status: interpreter.StatusRunning}

// damage is a commit whose instance has no history that could be written to.
func damage(t *testing.T, client redis.UniversalClient) togetherKind {
	return togetherKind{name: "damage", fails: true, before: func(key string) {
		if err := client.Set(t.Context(), strings.Replace(key, ":i:", ":h:", 1), "no list", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}}
}

// newTogether starts and claims a run, and prepares a commit to it.
func newTogether(t *testing.T, s *redisstore.Store, n int, kind togetherKind) *together {
	t.Helper()
	i := instance(fmt.Sprintf("i%d", n))
	if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	p := i.Partition(s.Layout().Partitions)
	claimed, err := s.Claim(t.Context(), store.Claim{Partition: p, Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	c := &together{kind: kind, commit: store.Commit{
		Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusRunning, Records: 1,
		Changes: interpreter.Changes{Head: fmt.Appendf(nil, `{"n":%d}`, n), Frames: []interpreter.StoredFrame{{Key: 3, Data: []byte(`{}`)}}},
		Entries: [][]byte{fmt.Appendf(nil, `{"e":"%d"}`, n)},
	}}
	if kind.change != nil {
		kind.change(&c.commit)
	}
	if kind.before != nil {
		kind.before(fmt.Sprintf("swrun:{D:%d}:i:%s", p, i))
	}
	return c
}

// check checks the result of the commit.
func (c *together) check(t *testing.T, s *redisstore.Store) {
	t.Helper()
	if c.kind.fails {
		if c.err == nil || store.RefusedAs(c.err) != "" {
			t.Errorf("%s of %s: got %v", c.kind.name, c.commit.Instance, c.err)
		}
		return
	}
	if c.err != nil != (c.kind.want != "") || store.RefusedAs(c.err) != c.kind.want {
		t.Errorf("%s of %s: got %v, want %q", c.kind.name, c.commit.Instance, c.err, c.kind.want)
		return
	}
	l, err := s.Load(t.Context(), c.commit.Instance)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.History(t.Context(), c.commit.Instance, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	stored, want := string(l.State.Head), ""
	if c.kind.want == "" {
		want = string(c.commit.Changes.Head)
	} else {
		c.commit.Entries = nil
	}
	if stored != want || l.Lifecycle.Status != c.kind.status || len(entries) != len(c.commit.Entries) {
		t.Errorf("%s of %s: %q is stored, %s, with %d entries", c.kind.name, c.commit.Instance, stored, l.Lifecycle.Status, len(entries))
	}
}

// scriptRuns returns how many scripts a server has run.
func scriptRuns(t *testing.T, client *redis.Client) (runs int) {
	t.Helper()
	info, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"eval", "evalsha"} {
		_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
		text, _, _ := strings.Cut(rest, ",")
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		runs += n
	}
	return runs
}

// TestCommitsBesideADamagedPartition: a partition whose time cannot be read does not keep others from being written to.
func TestCommitsBesideADamagedPartition(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: partitions})
	var all []*together
	for n := range 40 {
		c := newTogether(t, s, n, besideDamage)
		c.kind.fails = c.commit.Instance.Partition(partitions) == 0
		all = append(all, c)
	}
	if err := client.Rename(t.Context(), "swrun:{D:0}:index", "swrun:{D:0}:time").Err(); err != nil {
		t.Fatal(err)
	}
	runTogether(t, s, []*redis.Client{client}, all)
}

// TestCommitsAfterALoss: commits to partitions that have lost writes are refused, and those beside them are stored.
func TestCommitsAfterALoss(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: partitions})
	var all []*together
	for n := range 40 {
		c := newTogether(t, s, n, besideDamage)
		if c.commit.Instance.Partition(partitions)%2 == 0 {
			c.kind.name, c.kind.want = "after a loss", store.RolledBack
		}
		all = append(all, c)
	}
	for p := 0; p < partitions; p += 2 {
		redistest.EditTime(t, client, fmt.Sprintf("swrun:{D:%d}:time", p), func(m *redistest.Time) { m.Writes-- })
	}
	if runs := runTogether(t, s, []*redis.Client{client}, all); runs > len(all)/2 {
		t.Errorf("%d commits took %d runs of scripts because of partitions that have lost writes", len(all), runs)
	}
}
