package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures a store in addition to its URL. The zero value is useful.
type Config struct {
	Deployment string // default DefaultDeployment: several may share a Redis
	Partitions int    // of a new deployment; default store.DefaultPartitions; 0 accepts the existing number
	// Require refuses a server that may lose more than this; default DurabilityMemory.
	Require Durability
	// ReadOnly opens a server for reading: it need not accept writes. A replica can be opened, and nothing is written as a test.
	ReadOnly bool
	// Uptime is a clock that cannot be set and that continues while the machine sleeps; default the system's.
	Uptime func() time.Duration
	Log    *slog.Logger // for outages of the server; default discards
}

// DefaultDeployment is the default name of a deployment.
const DefaultDeployment = "swrun"

// Durability is the data that survives a crash of the server.
type Durability string

// The durabilities, the weakest first.
const (
	DurabilityMemory   Durability = "memory"   // nothing that was not saved yet
	DurabilityEverysec Durability = "everysec" // all but about the last second
	DurabilityFsync    Durability = "fsync"    // everything that was confirmed
)

func (d Durability) rank() int {
	switch d {
	case DurabilityFsync:
		return 2
	case DurabilityEverysec:
		return 1
	}
	return 0
}

// Open connects to redis://, rediss:// or redis+cluster:// and creates or checks the deployment. The URL's parameters deployment and
// partitions replace the fields of Config.
func Open(ctx context.Context, rawURL string, c Config) (*Store, error) {
	client, c, err := connect(rawURL, c)
	if err != nil {
		return nil, err
	}
	known := learnPlaces(client)
	unblock := context.AfterFunc(ctx, func() { client.Close() }) // a call that waits for the server returns immediately
	defer unblock()
	s, err := open(ctx, client, known, c)
	if err != nil {
		client.Close() // the first error matters
		return nil, fmt.Errorf("open the store %s: %w", errors.MaskURL(rawURL), err)
	}
	return s, nil
}

func open(ctx context.Context, client redis.UniversalClient, known *places, c Config) (*Store, error) {
	if c.Deployment == "" {
		c.Deployment = DefaultDeployment
	}
	if strings.ContainsAny(c.Deployment, "{}:* \t\r\n") {
		return nil, fmt.Errorf("%q is not the name of a deployment: it must not contain braces, colons, stars or spaces", c.Deployment)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if encrypts(client) { // a server that does not would be waited for
		if err := mismatched(ctx, client); err != nil {
			return nil, err
		}
	}
	facts, err := Inspect(ctx, client)
	if err != nil && codeOf(err) == "" {
		err = cmp.Or(mismatched(ctx, client), err)
	}
	if err != nil {
		return nil, err
	}
	if err := facts.check(c); err != nil {
		return nil, err
	}
	s := newStore(client, known, c)
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	s.keys = newKeys(s.layout)
	s.seen, s.clocks = make([]atomic.Int64, s.layout.Partitions), make([]clock, s.layout.Partitions)
	s.needed, s.behind = make([]neededNow, s.layout.Partitions), make([]behind, s.layout.Partitions)
	s.passed = make([]store.PassedOver, s.layout.Partitions)
	if err := s.fix(ctx); err != nil && (!c.ReadOnly || !refusesWrites(err)) {
		return nil, err // otherwise the deployment is not there, so that there is nothing to read
	}
	return s, s.ready(ctx, c)
}

// ready returns an error if the store is not ready for writes. A read-only store does not need that.
func (s *Store) ready(ctx context.Context, c Config) error {
	if c.ReadOnly {
		return nil
	}
	err := s.probe(ctx)
	if err != nil {
		_ = s.Close() // the first error matters
	}
	return err
}

// newStore returns a store whose layout has still to be fixed or checked.
func newStore(client redis.UniversalClient, known *places, c Config) *Store {
	if c.Uptime == nil {
		c.Uptime = uptime
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{client: client, places: known, scripts: newScripts(), nodes: map[*redis.Client]*node{}, uptime: c.Uptime, frames: newFrameFields(), log: c.Log, require: c.Require, opened: rand.Text()}
	s.cluster, _ = client.(*redis.ClusterClient)
	s.layout = store.Layout{Deployment: c.Deployment, Partitions: c.Partitions, Schema: store.Schema}
	return s
}

// probe finds out whether the user may do all that the scripts do.
func (s *Store) probe(ctx context.Context) error {
	r, err := s.call(ctx, *s.proof(0))
	switch {
	case err != nil && strings.Contains(err.Error(), "can't run this command"): // error before the commands of the probe
		return fmt.Errorf("the server's user lacks permissions: allow it TIME, GET and SET, see ACL SETUSER (%w)", err)
	case r.code == denied:
		return deniedBy(r)
	}
	return err
}
