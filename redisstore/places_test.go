package redisstore_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestPlaces: a store knows where it is, by all addresses of this machine, and that others at other ports are not.
func TestPlaces(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, strings.Replace(server.URL(), "127.0.0.1", "localhost", 1), redisstore.Config{})
	at := netip.MustParseAddrPort(server.Addr)
	for text, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "127.9.9.9": true, "0.0.0.0": true, "::": true, "203.0.113.7": false, "::ffff:203.0.113.7": false,
	} {
		if got := s.Serves(netip.AddrPortFrom(netip.MustParseAddr(text), at.Port())); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if other := netip.AddrPortFrom(at.Addr(), at.Port()+1); s.Serves(other) || s.Listens(other.Port()) || !s.Listens(at.Port()) {
		t.Error("ports are not told apart")
	}
}

// wantPlaces checks that a store reports all servers of a cluster as its places.
func wantPlaces(t *testing.T, s *redisstore.Store, client *redis.ClusterClient) {
	t.Helper()
	//lint:ignore SA1019 Redis 6.2 has no CLUSTER SHARDS
	slots, err := client.ClusterSlots(t.Context()).Result()
	if err != nil || len(slots) < 3 {
		t.Fatalf("%v, %v", slots, err)
	}
	for _, slot := range slots {
		for _, node := range slot.Nodes {
			if !s.Serves(netip.MustParseAddrPort(node.Addr)) {
				t.Errorf("the store is not at %s", node.Addr)
			}
		}
	}
}
