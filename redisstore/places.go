package redisstore

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/redis/go-redis/v9"
)

// places are the addresses of the store, as far as this process knows them: its connections, and the addresses reported by a cluster.
type places struct {
	mu    sync.RWMutex
	known map[netip.AddrPort]bool
}

// learnPlaces returns the places of a client. They are learned from now on.
func learnPlaces(client redis.UniversalClient) *places {
	s := &places{known: map[netip.AddrPort]bool{}}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) {
			s.learn(node.Options().Addr)
			node.AddHook(s)
		})
	} else {
		client.AddHook(s)
	}
	return s
}

// learn adds an address. A name is replaced by the address to which it was resolved for the connection.
func (s *places) learn(address string) {
	if at, err := netip.ParseAddrPort(address); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known[plainAddress(at)] = true
	}
}

// plainAddress returns the one form of an address.
func plainAddress(at netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// DialHook implements redis.Hook.
func (s *places) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		if err == nil {
			s.learn(conn.RemoteAddr().String())
		}
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (s *places) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (s *places) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Listens reports whether the store has a server at a port, of whatever machine.
func (s *Store) Listens(port uint16) bool {
	s.places.mu.RLock()
	defer s.places.mu.RUnlock()
	for at := range s.places.known {
		if at.Port() == port {
			return true
		}
	}
	return false
}

// Serves reports whether the store is at an address. This machine has many addresses: of a server on it, all of them count.
func (s *Store) Serves(at netip.AddrPort) bool {
	if !s.Listens(at.Port()) {
		return false
	}
	at = plainAddress(at)
	own := ownAddresses()
	s.places.mu.RLock()
	defer s.places.mu.RUnlock()
	if s.places.known[at] {
		return true
	}
	for place := range s.places.known {
		if place.Port() == at.Port() && isOwn(place.Addr(), own) && isOwn(at.Addr(), own) {
			return true
		}
	}
	return false
}

// ownAddresses returns the addresses of this machine's interfaces.
func ownAddresses() []net.Addr {
	all, _ := net.InterfaceAddrs() // without them, loopback addresses are known
	return all
}

// isOwn reports whether an address leads to this machine.
func isOwn(at netip.Addr, own []net.Addr) bool {
	if at.IsLoopback() || at.IsUnspecified() {
		return true
	}
	for _, one := range own {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr().Unmap() == at {
			return true
		}
	}
	return false
}
