package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Facts are a server's facts about itself.
type Facts struct {
	Version    string
	Policy     string // maxmemory-policy
	Memory     int64  // used, bytes
	MaxMemory  int64  // bytes; 0 for no limit
	Commands   int64  // run so far, including commands of scripts
	Durability Durability
	Saving     bool // it is writing all that it holds anew
	Replica    bool // it only follows another server
	Replicas   int  // that follow it
	Servers    int  // of a cluster; 0 for a single one
	Unsaved    bool // its last write to the append-only file failed
}

// Full is how much of the memory may be used before new runs are refused, so that those under way can end.
const Full = 0.8

// Used returns how much of the memory that the server may use is used; 0 if there is no limit.
func (f Facts) Used() float64 {
	if f.MaxMemory == 0 {
		return 0
	}
	return float64(f.Memory) / float64(f.MaxMemory)
}

// Inspect asks a server, of a cluster all of them, and returns the facts of the weakest.
func Inspect(ctx context.Context, client redis.UniversalClient) (Facts, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return inspect(ctx, client)
	}
	all := make(chan Facts, 1000)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		f, err := inspect(ctx, master)
		all <- f
		return err
	})
	close(all)
	var weakest Facts
	servers := 0
	for f := range all {
		servers++
		if weakest.Version == "" || f.Policy != "noeviction" || f.Durability.rank() < weakest.Durability.rank() {
			weakest = f
		}
	}
	weakest.Servers = servers
	return weakest, err
}

func inspect(ctx context.Context, client redis.Cmdable) (Facts, error) {
	info, err := client.Info(ctx).Result()
	if err != nil {
		return Facts{}, fmt.Errorf("ask the server about itself: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		values[name] = value
	}
	f := Facts{Version: values["redis_version"], Policy: values["maxmemory_policy"], Durability: DurabilityMemory}
	f.Replica = values["role"] == "slave"
	f.Saving = values["aof_rewrite_in_progress"] == "1" || values["rdb_bgsave_in_progress"] == "1"
	f.Unsaved = values["aof_enabled"] == "1" && values["aof_last_write_status"] == "err"
	f.Replicas, _ = strconv.Atoi(values["connected_slaves"])       // 0 if the server does not report it
	f.Memory, _ = strconv.ParseInt(values["used_memory"], 10, 64)  // the same
	f.MaxMemory, _ = strconv.ParseInt(values["maxmemory"], 10, 64) // the same
	f.Commands, _ = strconv.ParseInt(values["total_commands_processed"], 10, 64)
	if values["aof_enabled"] != "1" {
		return f, nil
	}
	f.Durability = DurabilityEverysec
	// CONFIG is often forbidden on hosted servers: then the weaker level is assumed.
	if config, err := client.ConfigGet(ctx, "appendfsync").Result(); err == nil && config["appendfsync"] == "always" {
		f.Durability = DurabilityFsync
	}
	return f, nil
}

// check refuses a server that cannot keep data. A server with full memory is accepted: runs in progress continue there. A read-only store
// stores no data.
func (f Facts) check(c Config) error {
	major, _ := strconv.Atoi(strings.SplitN(f.Version, ".", 2)[0]) // 0 if it cannot be read
	if major < 7 {
		return fmt.Errorf("the server is Redis %s: 7.0 or later is needed", f.Version)
	}
	if c.ReadOnly {
		return nil
	}
	for _, a := range f.ailments(c.Require) {
		if a.Reason != store.MemoryFull {
			return errors.New(a.What + ": " + a.Fix)
		}
	}
	return nil
}

// Facts asks the servers of the store.
func (s *Store) Facts(ctx context.Context) (Facts, error) { return Inspect(ctx, s.client) }

// settle takes the number of partitions from a deployment that is there, unless one was asked for.
func (s *Store) settle(ctx context.Context) error {
	if s.layout.Partitions != 0 {
		return s.layout.Valid()
	}
	s.layout.Partitions = store.DefaultPartitions
	key := newKeys(store.Layout{Deployment: s.layout.Deployment}).layout()
	text, err := s.client.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	kept, err := readLayout(key, text, err)
	if err != nil {
		return err
	}
	s.layout.Partitions = kept.Partitions
	return nil
}
