package redisstore

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Examine implements store.Examiner. It asks each server of the store for its facts, and runs every command that the scripts use.
func (s *Store) Examine(ctx context.Context) []store.Ailment {
	silent := store.Ailment{What: "the server does not answer in time", Fix: "check whether the store is stopped, overloaded, or cut off by the network"}
	return store.ExamineWithin(ctx, silent, func() (all []store.Ailment) {
		examined := map[*node]bool{}
		for p := range s.layout.Partitions {
			n, err := s.node(ctx, p)
			if err != nil {
				return append(all, s.ailment("", err))
			}
			if !examined[n] {
				examined[n] = true
				all = append(all, s.examineServer(ctx, n, p)...)
			}
		}
		if store.Refuses(all) < store.RefusesAll {
			if a, damaged := s.layoutAilment(ctx); damaged {
				all = append(all, a)
			}
			all = append(all, s.stillDamaged(ctx)...)
		}
		return all
	})
}

// examineServer examines the server that has a partition.
func (s *Store) examineServer(ctx context.Context, n *node, partition int) []store.Ailment {
	server := n.client.Options().Addr
	facts, err := inspect(ctx, n.client)
	if err != nil {
		return []store.Ailment{s.ailment(server, err)}
	}
	all := facts.ailments(s.require)
	if store.Refuses(all) >= store.RefusesWrites {
		// A replica whose primary is gone may refuse reads, too (replica-serve-stale-data no).
		if err := n.client.Get(ctx, s.keys.partitions[partition].time).Err(); err != nil && !errors.Is(err, redis.Nil) {
			all = append(all, s.ailment(server, err))
		}
		return all
	}
	if err := s.prove(ctx, n, partition); err != nil {
		all = append(all, s.ailment(server, err))
	}
	return all
}

// replicaFix is what to do about a server that is a replica.
const replicaFix = "name its primary in --store, or make it a primary (redis-cli replicaof no one)"

// memoryFix is what to do about a server whose memory is full, or nearly.
const memoryFix = "raise maxmemory, or let workers delete old runs: swrun worker --retention 24h"

// ailments returns the ailments of a server with these facts.
func (f Facts) ailments(require Durability) (all []store.Ailment) {
	if f.Replica {
		all = append(all, store.Ailment{Reason: store.ReadOnly, Refuses: store.RefusesWrites, What: "the server is a replica, which takes no writes", Fix: replicaFix})
	}
	if f.Policy != "noeviction" {
		all = append(all, store.Ailment{
			Reason: store.Evicting, Fix: "run `redis-cli config set maxmemory-policy noeviction`",
			What: fmt.Sprintf("the server evicts keys when its memory is full (maxmemory-policy %s), which would lose workflows", f.Policy),
		})
	}
	if f.Durability.rank() < require.rank() {
		all = append(all, store.Ailment{
			Reason: store.NotDurable, What: fmt.Sprintf("the server's durability is %s, and %s is required", f.Durability, require),
			Fix: "set appendonly yes and appendfsync " + map[Durability]string{DurabilityEverysec: "everysec", DurabilityFsync: "always"}[require],
		})
	}
	if f.Unsaved {
		all = append(all, store.Ailment{Reason: store.DiskFull, Refuses: store.RefusesGrowth, What: "the server cannot write its append-only file, so that it refuses writes or loses them", Fix: "make room on the server's disk"})
	}
	if used := f.Used(); used > Full {
		a := store.Ailment{
			Reason: store.MemoryFull, Refuses: store.RefusesStarts, What: fmt.Sprintf("%d of %d MB of the server's memory are in use: no new runs are taken", f.Memory>>20, f.MaxMemory>>20),
			Fix: memoryFix,
		}
		if used >= 1 {
			a.Refuses, a.What = store.RefusesGrowth, fmt.Sprintf("all %d MB of the server's memory are in use: it refuses requests that need more", f.MaxMemory>>20)
		}
		all = append(all, a)
	}
	return all
}

// deniedError contains the command that the user of the store may not use.
type deniedError struct{ command string }

func (e *deniedError) Error() string {
	return fmt.Sprintf("the server's user lacks permissions: allow it, see ACL SETUSER (%s)", e.command)
}

// denied is the reply of scripts/probe.lua that a command was refused.
const denied = "DENIED"

func deniedBy(r reply) error { return &deniedError{fmt.Sprint(r.values[0])} }

// proof runs every command that the scripts use.
func (s *Store) proof(partition int) *call {
	k := &s.keys.partitions[partition]
	return &call{
		script: &s.scripts.probe, partition: partition, subject: "of permissions", keys: []any{k.time, k.prefix + "probe"}, args: []any{s.keys.hints()}, answers: 1,
	}
}

// prove sends the proof once, without waiting for trouble to pass. A refusal by a partition is not an error of its server.
func (s *Store) prove(ctx context.Context, n *node, partition int) error {
	all, err := s.try(ctx, n, &request{unwanted: ctx.Done(), call: s.proof(partition)})
	if err == nil && all[0].code == denied {
		err = deniedBy(all[0])
	}
	return err
}

// ailment returns the ailment that an error of a server means for users of the store.
func (s *Store) ailment(server string, err error) store.Ailment {
	a := store.Ailment{Reason: store.Unreachable, Refuses: store.RefusesAll, What: err.Error(), Fix: "see whether the server runs and whether this machine reaches it"}
	if server != "" {
		a.What = fmt.Sprintf("the server %s: %s", server, err)
	}
	damaged, isDamaged := damagedAilment(err)
	switch code := refusalOf(err); {
	case isDamaged:
		a.Reason, a.Refuses, a.Partial, a.Fix = damaged.Reason, damaged.Refuses, damaged.Partial, damaged.Fix
	case errors.As(err, new(*deniedError)):
		a.Reason, a.Fix = store.Forbidden, deniedFix
	case errors.As(err, new(*FullError)):
		a.Reason, a.Refuses, a.Fix = store.MemoryFull, store.RefusesStarts, memoryFix
	case code == "":
		if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			a.Reason, a.Fix = store.Silent, "see whether the server is stopped, overloaded, or cut off by the network"
		}
		if errors.Is(err, redis.ErrClosed) && s.isClosed() {
			a.Reason, a.Fix = store.Gone, "start the process again"
		}
	default:
		known := refusals()[code]
		if known.Reason == "" {
			known = store.Ailment{Reason: store.Unwritable, Refuses: store.RefusesAll, Fix: "see the log of the server"}
		}
		a.Reason, a.Refuses, a.Fix = known.Reason, known.Refuses, known.Fix
	}
	return a
}

// deniedFix is the remedy for a user without the needed permissions.
const deniedFix = "give the user of the store the commands that docs/operating.md lists (ACL SETUSER)"

// Remedy returns the remedy for a refusal by a server; "" if unknown.
func Remedy(err error) string {
	damaged, isDamaged := damagedAilment(err)
	switch {
	case isDamaged:
		return damaged.Fix
	case errors.As(err, new(*FullError)):
		return memoryFix
	case errors.As(err, new(*deniedError)):
		return deniedFix
	}
	return refusals()[refusalOf(err)].Fix
}

// Diagnose implements store.Diagnoser.
func (s *Store) Diagnose(err error) (a store.Ailment, known bool) {
	_, refused := refusals()[refusalOf(err)]
	_, damaged := damagedAilment(err)
	if refused || damaged || errors.As(err, new(*deniedError)) || errors.As(err, new(*FullError)) || errors.As(err, new(*net.OpError)) || errors.Is(err, io.EOF) {
		return s.ailment("", err), true
	}
	return a, false
}

// refusalOf is codeOf, and NOPERM if a script lacks a permission. Redis reports that as ERR, with different words in different versions.
func refusalOf(err error) string {
	code := codeOf(err)
	if code == "ERR" && isOfScript(err) && (strings.Contains(err.Error(), "The user executing the script can't") || strings.Contains(err.Error(), "ACL failure in script")) {
		return "NOPERM"
	}
	return code
}

// refusesWrites reports whether a server refused a change, but still answers reads.
func refusesWrites(err error) bool {
	known, ok := refusals()[codeOf(err)]
	return ok && known.Refuses < store.RefusesAll
}

// isTimeout reports whether a connection has not answered in time.
func isTimeout(err error) bool {
	var timed interface{ Timeout() bool }
	return errors.As(err, &timed) && timed.Timeout()
}

// refusals returns the ailments of a server that refuses all changes, by the prefixes of its errors.
func refusals() map[string]store.Ailment {
	forbidden := store.Ailment{Reason: store.Forbidden, Refuses: store.RefusesAll, Fix: "correct the user and the password of --store, and the permissions of the user: docs/operating.md lists them (ACL SETUSER)"}
	busy := store.Ailment{Reason: store.Silent, Refuses: store.RefusesAll, Fix: "wait until the server has loaded its data, or see which script keeps it busy"}
	apart := store.Ailment{Reason: store.Unreachable, Refuses: store.RefusesAll, Fix: "see whether all servers of the cluster are there: redis-cli cluster info"}
	return map[string]store.Ailment{
		"READONLY":    {Reason: store.ReadOnly, Refuses: store.RefusesWrites, Fix: replicaFix},
		"MISCONF":     {Reason: store.DiskFull, Refuses: store.RefusesGrowth, Fix: "make room on the server's disk: its log says why it cannot save"},
		"OOM":         {Reason: store.MemoryFull, Refuses: store.RefusesGrowth, Fix: memoryFix},
		"NOREPLICAS":  {Reason: store.Unwritable, Refuses: store.RefusesWrites, Fix: "see where the replicas of the server are that min-replicas-to-write wants"},
		"NOAUTH":      forbidden,
		"WRONGPASS":   forbidden,
		"NOPERM":      forbidden,
		"LOADING":     busy,
		"BUSY":        busy,
		"CLUSTERDOWN": apart,
		"MASTERDOWN":  {Reason: store.ReadOnly, Refuses: store.RefusesAll, Fix: "see whether the primary of this replica runs, or " + replicaFix},
	}
}
