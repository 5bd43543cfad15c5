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

// BenchmarkCommit measures the commit of a durable step, by 100 concurrent owners. script-µs is the server time of one commit.
func BenchmarkCommit(b *testing.B) {
	server := redistest.Start(b, "--appendonly", "yes")
	s, err := redisstore.Open(b.Context(), server.URL(), redisstore.Config{Partitions: 16})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const owners = 100
	commits := make([]store.Commit, owners)
	for n := range commits {
		commits[n] = mustCommit(b, s, n)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	client.ConfigResetStat(b.Context())
	b.ResetTimer()
	var group sync.WaitGroup
	for n := range commits {
		group.Go(func() {
			c := commits[n]
			for i := n; i < b.N; i += owners {
				if _, err := s.Commit(context.Background(), c); err != nil {
					b.Error(err)
					return
				}
				c.Version, c.Next = c.Version+1, c.Next+1
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(spent(b, client)/float64(b.N), "script-µs")
}

func mustCommit(b *testing.B, s *redisstore.Store, n int) store.Commit {
	b.Helper()
	i := store.Instance{Namespace: "bench", ID: "01k7za0000000000000000" + strconv.Itoa(n)}
	if _, err := s.Start(b.Context(), store.Start{Instance: i, Invocation: []byte(`{"w":"bench/steps:1.0.0","d":"0123456789abcdef012345","i":{"n":1}}`)}); err != nil {
		b.Fatal(err)
	}
	claimed, err := s.Claim(b.Context(), store.Claim{Partition: i.Partition(16), Instances: []store.Instance{i}, Worker: "w", Nonce: "0123456789abcdefghij", Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		b.Fatal(claimed, err)
	}
	return store.Commit{
		Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusRunning, Records: 4,
		Changes: interpreter.Changes{
			Head: []byte(`{"s":"running","t":1763700000000000000,"f":12,"n":5,"r":27}`),
			Frames: []interpreter.StoredFrame{
				{Key: 1, Data: []byte(`{"i":1,"r":{"ok":true},"@":5,"l":"do"}`)},
				{Key: 2, Data: []byte(`{"i":7,"u":1,"p":"/do/5/s5","f":2,"r":{"ok":true},"t":1763700000000000000,"e":{"i":6,"t":1763700000000000000,"a":1,"q":{"method":"GET","uri":"http://bench.invalid/","format":"content"}}}`)},
			},
		},
		Entries: [][]byte{[]byte(`{"e":"finished","t":1763700000000000000,"q":23,"r":[{"t":"effect.finished","k":"call_http","p":"/do/4/s4","n":5,"a":1,"d":{"ok":true}},{"t":"task.completed","k":"call_http","p":"/do/4/s4","=":true},{"t":"task.started","k":"call_http","p":"/do/5/s5","=":true},{"t":"effect.started","k":"call_http","p":"/do/5/s5","n":6,"a":1}]}`)},
	}
}

// spent returns the microseconds that the server has spent on scripts.
func spent(b *testing.B, client *redis.Client) float64 {
	b.Helper()
	info, err := client.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec=")
	text, _, _ := strings.Cut(rest, ",")
	us, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(fmt.Errorf("%q: %w", rest, err))
	}
	return us
}

// BenchmarkAvailable looks for activities in one queue of a partition with many non-empty queues of many namespaces. server-µs is the
// server time of one look.
func BenchmarkAvailable(b *testing.B) {
	for _, size := range []struct{ queues, namespaces int }{{1, 1}, {1, 50}, {200, 1}, {200, 50}, {1, 2000}} {
		b.Run(fmt.Sprintf("queues=%d/namespaces=%d", size.queues, size.namespaces), func(b *testing.B) {
			server := redistest.Start(b)
			s, err := redisstore.Open(b.Context(), server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			client := redis.NewClient(&redis.Options{Addr: server.Addr})
			defer client.Close()
			mustQueues(b, client, size.queues, size.namespaces)
			client.ConfigResetStat(b.Context())
			b.ResetTimer()
			for turn := range b.N {
				offered, err := s.Available(b.Context(), store.Available{Queues: []string{"q0"}, N: 10, Turn: turn})
				if err != nil || len(offered.Activities) != min(10, 3*size.namespaces) {
					b.Fatal(offered, err)
				}
			}
			b.StopTimer()
			b.ReportMetric(all(b, client)/float64(b.N), "server-µs")
		})
	}
}

// mustQueues adds three waiting activities to each of the given number of queues in each of the given number of namespaces.
func mustQueues(b *testing.B, client *redis.Client, queues, namespaces int) {
	b.Helper()
	p := client.Pipeline()
	for q := range queues {
		for n := range namespaces {
			name := fmt.Sprintf("q%d n%d", q, n)
			p.ZAdd(b.Context(), "swrun:{D:0}:queued", redis.Z{Member: name})
			for a := range 3 {
				p.ZAdd(b.Context(), "swrun:{D:0}:q:"+name, redis.Z{Score: 1, Member: fmt.Sprintf("n%d/r%d 1", n, a)})
			}
		}
	}
	if _, err := p.Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// all returns the microseconds that the server has spent on commands.
func all(b *testing.B, client *redis.Client) (sum float64) {
	b.Helper()
	info, err := client.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(info, "\n") {
		_, rest, ok := strings.Cut(line, "usec=")
		text, _, _ := strings.Cut(rest, ",")
		if us, err := strconv.ParseFloat(text, 64); ok && err == nil {
			sum += us
		}
	}
	return sum
}
