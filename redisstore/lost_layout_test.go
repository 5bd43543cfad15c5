package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestLostLayoutInACluster: the number of partitions is determined from all servers of a cluster. Read-only stores are refused, too.
func TestLostLayoutInACluster(t *testing.T) {
	url := redistest.Cluster(t, 3)
	s := mustOpen(t, url, redisstore.Config{Deployment: "D", Partitions: 7})
	for n := range 20 {
		if _, err := s.Start(t.Context(), store.Start{Instance: instance(fmt.Sprint("r", n)), Invocation: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	seed, _, _ := strings.Cut(strings.TrimPrefix(url, "redis+cluster://"), "?")
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{seed}})
	t.Cleanup(func() { client.Close() })
	if n, err := client.Del(t.Context(), "swrun:{D}:layout").Result(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for _, reads := range []bool{false, true} {
		if _, err := redisstore.Open(t.Context(), url, redisstore.Config{Deployment: "D", Partitions: 5, ReadOnly: reads}); !strings.Contains(redisstore.Remedy(err), `"Partitions":7,`) {
			t.Errorf("it is opened with %v: %s", err, redisstore.Remedy(err))
		}
	}
}

// TestNewDeploymentOpenedByMany: a process that opens a new deployment while another one writes the layout and data finds no damage.
func TestNewDeploymentOpenedByMany(t *testing.T) {
	server := redistest.Start(t)
	for n := range 20 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := redisstore.Open(t.Context(), server.URL(), redisstore.Config{Deployment: fmt.Sprint("D", n)})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Define(context.Background(), "k", []byte("v")); err != nil {
					t.Error(err)
				}
				s.Close() // nothing is on its way
			})
		}
		all.Wait()
	}
}
