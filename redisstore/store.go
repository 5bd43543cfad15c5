package redisstore

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Store is a store.Store on Redis.
type Store struct {
	client  redis.UniversalClient
	cluster *redis.ClusterClient // nil for one server
	places  *places
	layout  store.Layout
	keys    keys
	scripts scripts
	calls   atomic.Uint64
	seen    []atomic.Int64 // highest seq of each partition
	clocks  []clock        // of each partition
	uptime  func() time.Duration
	frames  frameFields
	log     *slog.Logger
	require Durability
	records records
	damaged damagedKeys

	needed        []neededNow // in each partition
	behind        []behind    // of each partition
	passed        []store.PassedOver
	opened        string // another one for each store that is opened
	registrations atomic.Uint64

	mu      sync.Mutex
	nodes   map[*redis.Client]*node
	closing sync.RWMutex
	closed  bool
}

var _ store.Store = (*Store)(nil)

// closeWithin is how long requests in flight may take when the store is closed.
const closeWithin = time.Second

// Close closes all connections. Requests in flight are answered before, unless the server is silent.
func (s *Store) Close() error {
	hurry := time.AfterFunc(closeWithin, func() { s.client.Close() }) // then nothing is waited for any more
	defer hurry.Stop()
	s.closing.Lock()
	closed := s.closed
	s.closed = true
	s.closing.Unlock()
	if closed {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for client, n := range s.nodes {
		delete(s.nodes, client) // failed does not shut it again
		n.shut()
		n.senders.Wait()
	}
	if err := s.client.Close(); !errors.Is(err, redis.ErrClosed) {
		return err
	}
	return nil
}

// server returns the server that holds a partition.
func (s *Store) server(ctx context.Context, partition int) (*redis.Client, error) {
	if s.cluster == nil {
		return s.client.(*redis.Client), nil
	}
	return s.cluster.MasterForKey(ctx, s.keys.partitions[partition].time)
}

func (s *Store) node(ctx context.Context, partition int) (*node, error) {
	client, err := s.server(ctx, partition)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[client]
	if n == nil {
		n = s.newNode(client)
		s.nodes[client] = n
	}
	return n, nil
}

// of returns the partition of a run, and its keys.
func (s *Store) of(i store.Instance) (int, *partitionKeys) {
	p := i.Partition(s.layout.Partitions)
	return p, &s.keys.partitions[p]
}
