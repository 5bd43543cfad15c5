package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Listeners implements store.Reader. One server is asked with one command, whatever the number of partitions; in a Cluster each partition
// takes one.
func (s *Store) Listeners(ctx context.Context, c store.Listening) (found store.Listeners, err error) {
	for failures := 1; ; failures++ {
		found, n, err := s.listeners(ctx, &c)
		if err == nil {
			n.outage.answered(s.uptime)
			return found, nil
		}
		if ctx.Err() != nil || !s.passes(ctx, err) {
			return found, fmt.Errorf("read the listeners: %w", err)
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

// listeners also returns the server that was asked last.
func (s *Store) listeners(ctx context.Context, c *store.Listening) (found store.Listeners, last *node, err error) {
	servers, err := s.servers(ctx, c.Partitions)
	if err != nil {
		return found, nil, err
	}
	for n, partitions := range servers {
		last = n
		for some := range slices.Chunk(partitions, maxKeys) {
			if err := s.listenersAt(ctx, n, some, c, &found); err != nil {
				return found, n, err
			}
		}
	}
	return found, last, nil
}

// listenersAt asks one server about some of its partitions.
func (s *Store) listenersAt(ctx context.Context, n *node, partitions []int, c *store.Listening, found *store.Listeners) error {
	size := len(partitions)
	if !n.spread.Load() {
		size = 1
	}
	q := listenerQuery{asked: slices.Collect(slices.Chunk(partitions, size)), args: listening(c)}
	for _, p := range partitions {
		q.keys = append(q.keys, s.keys.partitions[p].listeners)
	}
	answers, err := q.send(ctx, n, redis.Pipeliner.EvalSha, s.scripts.listeners.sha)
	if codeOf(err) == "NOSCRIPT" {
		answers, err = q.send(ctx, n, redis.Pipeliner.Eval, s.scripts.listeners.source)
	}
	if codeOf(err) == "CROSSSLOT" && size > 1 { // the server is part of a cluster
		n.spread.Store(false)
		return s.listenersAt(ctx, n, partitions, c, found)
	}
	for _, p := range partitions {
		if isWrongType(err) && !errors.As(err, new(*damagedKeyError)) {
			err = s.damageBy(ctx, n, &call{partition: p, keys: []any{s.keys.partitions[p].listeners}}, err)
		}
	}
	for i, answer := range answers {
		if err == nil {
			err = listed(answer.Val(), q.asked[i], found)
		}
	}
	return err
}

// listenerQuery is the query of one server for listeners.
type listenerQuery struct {
	asked [][]int  // partitions of one command each
	keys  []string // of all of them
	args  []any
}

// evaluation is a command that runs a script: by its digest, or its text.
type evaluation func(p redis.Pipeliner, ctx context.Context, script string, keys []string, args ...any) *redis.Cmd

func (q *listenerQuery) send(ctx context.Context, n *node, evaluate evaluation, script string) (answers []*redis.Cmd, err error) {
	pipe, keys := n.client.Pipeline(), q.keys
	for _, partitions := range q.asked {
		answers = append(answers, evaluate(pipe, ctx, script, keys[:len(partitions)], q.args...))
		keys = keys[len(partitions):]
	}
	_, err = pipe.Exec(ctx)
	return answers, err
}

// listening returns the arguments of scripts/listeners.lua.
func listening(c *store.Listening) []any {
	ranges := c.Ranges()
	args := append(make([]any, 0, 3+2*len(ranges)+2*len(c.Filters)), c.N, len(ranges), len(c.Filters))
	for _, r := range ranges {
		args = append(args, "["+r.From, "("+r.To)
	}
	for _, f := range c.Filters {
		from, to := c.Between(f)
		args = append(args, "["+from, "("+to)
	}
	return args
}

// listed adds the answer of scripts/listeners.lua about some partitions.
func listed(answer any, partitions []int, found *store.Listeners) error {
	both, _ := answer.([]any)
	if len(both) != 2 {
		return fmt.Errorf("%v is not an answer of scripts/listeners.lua", answer)
	}
	groups, _ := both[0].([]any)
	for _, entry := range groups {
		if f, _, _, err := store.ParseListenEntry(fmt.Sprint(entry)); err == nil {
			found.AddFrom(f)
		}
	}
	runs, _ := both[1].([]any)
	for n := 0; n+2 < len(runs); n += 3 {
		partition, _ := runs[n].(int64)
		filter, _ := runs[n+1].(int64)
		entries, _ := runs[n+2].([]any)
		one := store.ListeningRuns{Partition: partitions[partition-1], Filter: int(filter) - 1}
		for _, entry := range entries {
			if _, i, _, err := store.ParseListenEntry(fmt.Sprint(entry)); err == nil { // otherwise a hand has written it
				one.Runs = append(one.Runs, i)
			}
		}
		found.Runs = append(found.Runs, one)
	}
	return nil
}

// listens writes the listener entries of the run.
func (b *batch) listens(to *subject, of *store.Change) {
	removed, added := of.ListenEntries(to.instance)
	if len(removed) > 0 {
		members := make([]any, len(removed))
		for n, entry := range removed {
			members[n] = entry
		}
		b.do("ZREM", to.keys.listeners, members...)
	}
	if len(added) > 0 {
		b.do("ZADD", to.keys.listeners, scored(added)...)
	}
}

// scored returns members of a sorted set with the score 0 each, as arguments.
func scored(members []string) (all []any) {
	for _, m := range members {
		all = append(all, 0, m)
	}
	return all
}
