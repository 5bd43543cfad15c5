package redisstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestRelistInACluster: each partition of a cluster finds the entries that its own lists lack, also if the name of the deployment contains the
// special characters of a pattern.
func TestRelistInACluster(t *testing.T) {
	url := redistest.Cluster(t, 3)
	s := mustOpen(t, url, redisstore.Config{Deployment: "D[1]?", Partitions: 3})
	options, err := redis.ParseClusterURL(strings.Replace(url, "redis+cluster:", "redis:", 1))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(options)
	defer client.Close() // the servers are gone then
	var kinds []store.RegistryKind
	for _, kind := range store.RegistryKinds() {
		if _, err := s.Register(t.Context(), store.Registration{Kind: kind, Key: "k", Value: []byte("1 {}"), Version: store.AnyVersion}); err != nil {
			t.Fatal(err)
		}
		if kind.Listed() {
			kinds = append(kinds, kind)
			removed := client.ZRem(t.Context(), "swrun:{D[1]?:"+string(rune('0'+kind.Partition("k", 3)))+"}:r:"+string(kind), "k")
			if removed.Err() != nil || removed.Val() != 1 {
				t.Fatal(kind, removed)
			}
		}
	}
	for _, want := range [][]store.RegistryKind{kinds, nil} {
		var missing []string
		for p := range 3 {
			for request := (store.Scrub{Partition: p, Registry: true}); ; {
				done, err := s.Scrub(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				missing = append(missing, done.Repaired...)
				if request.Cursor = done.Cursor; request.Cursor == "" {
					break
				}
			}
		}
		var wanted []string
		for _, kind := range want {
			wanted = append(wanted, "the entry k of "+string(kind)+" was missing in its list")
		}
		slices.Sort(missing)
		slices.Sort(wanted)
		if !slices.Equal(missing, wanted) {
			t.Errorf("found %q, want %q", missing, wanted)
		}
	}
}
