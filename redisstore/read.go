package redisstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Poll implements store.Reader.
func (s *Store) Poll(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	sent := s.uptime()
	w, at, err := s.poll(ctx, partition, n, expired)
	if err != nil {
		return w, err
	}
	off := s.clocks[partition].jumped(at, sent, s.uptime())
	wrong := off != 0 || at.fell()
	if wrong || s.clocks[partition].vouches(at, sent) {
		// What is sent is a difference, and not a time: it may be long on its way.
		if _, err := s.call(ctx, &s.scripts.hold, partition, "the clock", []any{s.keys.partitions[partition].time}, off, at.offset); err != nil {
			return store.Work{}, err
		}
	}
	if wrong {
		sent = s.uptime()
		if w, at, err = s.poll(ctx, partition, n, expired); err != nil {
			return w, err
		}
	}
	s.clocks[partition].hear(w.At.UnixMilli(), sent, s.uptime())
	return w, nil
}

// poll also returns what the time is made of.
func (s *Store) poll(ctx context.Context, partition, n int, expired bool) (w store.Work, at reading, err error) {
	k := &s.keys.partitions[partition]
	var ready, due, closed *redis.ZSliceCmd
	var outbox *redis.XMessageSliceCmd
	var now *redis.TimeCmd
	var kept *redis.StringCmd
	last := int64(n) - 1
	seen := s.seen[partition].Load() // before it is asked
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		now, kept = p.Time(ctx), p.Get(ctx, k.time) // before all else: what is written meanwhile counts as not seen
		ready = p.ZRangeWithScores(ctx, k.ready, 0, last)
		due = p.ZRangeWithScores(ctx, k.due, 0, last+1)
		if expired {
			closed = p.ZRangeWithScores(ctx, k.closed, 0, last)
		}
		outbox = p.XRangeN(ctx, k.outbox, "-", "+", int64(n))
	})
	if err != nil {
		return w, at, fmt.Errorf("poll partition %d: %w", partition, err)
	}
	at = newReading(now.Val().UnixMilli(), kept.Val())
	if at.seq < seen {
		return w, at, &store.Refusal{Code: store.RolledBack, Detail: fmt.Sprintf("partition %d", partition)}
	}
	w.At, w.Writes = store.Moment(at.now()), at.seq
	for _, z := range ready.Val() {
		w.Ready = append(w.Ready, instanceOf(z.Member.(string)))
		if z.Score < 0 {
			w.Begun++
		}
	}
	for _, z := range due.Val() {
		if math.IsInf(z.Score, 1) {
			break
		}
		due := store.Moment(int64(z.Score))
		if due.After(w.At) || len(w.Due) == n {
			w.Next = due
			break
		}
		w.Due = append(w.Due, instanceOf(z.Member.(string)))
	}
	if expired {
		w.Expired, w.Closed = members(closed.Val())
	}
	w.Outbox = outgoing(partition, outbox.Val())
	return w, at, nil
}

// outgoing reads entries of a partition's outbox.
func outgoing(partition int, entries []redis.XMessage) (all []store.Outgoing) {
	for _, m := range entries {
		data, _ := m.Values["d"].(string)
		all = append(all, store.Outgoing{ID: fmt.Sprintf("%d:%s", partition, m.ID), Data: []byte(data)})
	}
	return all
}

// Outbox implements store.Reader.
func (s *Store) Outbox(ctx context.Context, partition int, after string, n int) ([]store.Outgoing, error) {
	from := "-"
	if after != "" {
		from = "(" + entryID(after)
	}
	var entries *redis.XMessageSliceCmd
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		entries = p.XRangeN(ctx, s.keys.partitions[partition].outbox, from, "+", int64(n))
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox of partition %d: %w", partition, err)
	}
	return outgoing(partition, entries.Val()), nil
}

// members returns the members of an index, and the time of the first.
func members(all []redis.Z) (instances []store.Instance, first time.Time) {
	for n, z := range all {
		if n == 0 {
			first = store.Moment(int64(z.Score))
		}
		instances = append(instances, instanceOf(z.Member.(string)))
	}
	return instances, first
}

// entryID is the id of an outbox entry within its partition.
func entryID(id string) string {
	_, entry, _ := strings.Cut(id, ":")
	return entry
}

// pipelined sends commands to the server of a partition, and repeats them while the connection fails.
func (s *Store) pipelined(ctx context.Context, partition int, f func(redis.Pipeliner)) error {
	for failures := 1; ; failures++ {
		n, err := s.node(ctx, partition)
		if err == nil {
			pipe := n.client.Pipeline()
			f(pipe)
			answered := n.outage.awaits(s.uptime)
			_, err = pipe.Exec(ctx)
			answered()
		}
		if err == nil || errors.Is(err, redis.Nil) {
			n.outage.ended(s.uptime)
			return nil
		}
		if ctx.Err() != nil || !s.passes(ctx, err) {
			return err
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

// readLoaded reads the fields and values of an instance's hash.
func readLoaded(fields []any) (store.Loaded, error) {
	l := store.Loaded{State: interpreter.StoredState{Frames: map[interpreter.FrameKey][]byte{}}}
	var err error
	for n := 0; n+1 < len(fields); n += 2 {
		name, _ := fields[n].(string)
		value, _ := fields[n+1].(string)
		switch name {
		case fieldRecord:
			l.Lifecycle, err = store.ParseLifecycle(value)
		case fieldInfo:
			l.Invocation = []byte(value)
		case fieldHead:
			l.State.Head = []byte(value)
		case fieldContext:
			l.State.Context = []byte(value)
		default:
			id, bad := strconv.Atoi(strings.TrimPrefix(name, fieldFrame))
			if bad != nil {
				return l, fmt.Errorf("%q is no field of an instance", name)
			}
			l.State.Frames[interpreter.FrameKey(id)] = []byte(value)
		}
	}
	return l, err
}

// Load implements store.Reader.
func (s *Store) Load(ctx context.Context, i store.Instance) (store.Loaded, error) {
	n, k := s.of(i)
	var fields *redis.MapStringStringCmd
	err := s.pipelined(ctx, n, func(p redis.Pipeliner) { fields = p.HGetAll(ctx, k.instance(i)) })
	if err != nil {
		return store.Loaded{}, fmt.Errorf("load instance %s: %w", i, err)
	}
	if len(fields.Val()) == 0 {
		return store.Loaded{}, &store.Refusal{Code: store.NoSuch, Detail: "instance " + i.String()}
	}
	var flat []any
	for name, value := range fields.Val() {
		flat = append(flat, name, value)
	}
	l, err := readLoaded(flat)
	if err != nil {
		err = store.Refuse(store.Corrupt, time.Time{}, "instance %s: %s", i, err)
	}
	return l, err
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context, partition int, cursor string, n int) (store.Page, error) {
	k := &s.keys.partitions[partition]
	from := "+"
	if cursor != "" {
		from = "(" + cursor
	}
	var slots *redis.XMessageSliceCmd
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { slots = p.XRevRangeN(ctx, k.index, from, "-", int64(n)) })
	if err != nil {
		return store.Page{}, fmt.Errorf("list partition %d: %w", partition, err)
	}
	instances := make([]*redis.SliceCmd, len(slots.Val()))
	if len(instances) == 0 {
		return store.Page{}, nil
	}
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for n, m := range slots.Val() {
			instances[n] = p.HMGet(ctx, k.instance(instanceOf(m.Values["i"].(string))), fieldRecord, fieldInfo)
		}
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("list partition %d: %w", partition, err)
	}
	var page store.Page
	for n, m := range slots.Val() {
		page.Cursor = m.ID
		record, _ := instances[n].Val()[0].(string)
		info, _ := instances[n].Val()[1].(string)
		r, err := store.ParseLifecycle(record)
		if err != nil {
			continue // it has just been removed, or scrub will tell
		}
		page.Items = append(page.Items, store.Listed{Instance: instanceOf(m.Values["i"].(string)), Lifecycle: r, Invocation: []byte(info)})
	}
	if len(slots.Val()) < n {
		page.Cursor = ""
	}
	return page, nil
}

// Upcoming implements store.Reader.
func (s *Store) Upcoming(ctx context.Context, partition int, until time.Time) (all []store.Instance, err error) {
	k := &s.keys.partitions[partition]
	var ready, due *redis.StringSliceCmd
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		ready = p.ZRange(ctx, k.ready, 0, -1)
		due = p.ZRangeByScore(ctx, k.due, &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(until.UnixMilli(), 10)})
	})
	for _, member := range append(ready.Val(), due.Val()...) {
		all = append(all, instanceOf(member))
	}
	return all, err
}

// slot is an instance's place in the list of all.
type slot struct {
	id       string
	instance store.Instance
}

// scan returns instances of a partition in the order of creation.
func (s *Store) scan(ctx context.Context, partition int, cursor string, n int) (all []slot, next string, err error) {
	from := "-"
	if cursor != "" {
		from = "(" + cursor
	}
	var slots *redis.XMessageSliceCmd
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		slots = p.XRangeN(ctx, s.keys.partitions[partition].index, from, "+", int64(n))
	})
	if err != nil {
		return nil, "", err
	}
	for _, m := range slots.Val() {
		all = append(all, slot{m.ID, instanceOf(m.Values["i"].(string))})
		next = m.ID
	}
	if len(all) < n {
		next = ""
	}
	return all, next, nil
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, i store.Instance, from, n int) ([]store.StoredEntry, error) {
	p, k := s.of(i)
	var stored *redis.StringSliceCmd
	var there *redis.IntCmd
	err := s.pipelined(ctx, p, func(p redis.Pipeliner) {
		there = p.Exists(ctx, k.instance(i))
		stored = p.LRange(ctx, k.history(i), int64(from), int64(from+n-1))
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", i, err)
	}
	if there.Val() == 0 {
		return nil, &store.Refusal{Code: store.NoSuch, Detail: "instance " + i.String()}
	}
	all := make([]store.StoredEntry, len(stored.Val()))
	for n, text := range stored.Val() {
		if all[n], err = store.ParseEntry([]byte(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Payload implements store.Reader.
func (s *Store) Payload(ctx context.Context, i store.Instance, ref string) ([]byte, error) {
	p, k := s.of(i)
	var data *redis.StringCmd
	err := s.pipelined(ctx, p, func(p redis.Pipeliner) { data = p.HGet(ctx, k.payloads(i), ref) })
	if errors.Is(data.Err(), redis.Nil) {
		return nil, &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("payload %s of instance %s", ref, i)}
	}
	if err != nil {
		return nil, fmt.Errorf("read a payload of %s: %w", i, err)
	}
	return data.Bytes()
}

// Definition implements store.Catalog.
func (s *Store) Definition(ctx context.Context, key string) ([]byte, error) {
	data, err := s.client.HGet(ctx, s.keys.definitions(), key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, &store.Refusal{Code: store.NoSuch, Detail: "definition " + key}
	}
	return data, err
}

// Definitions implements store.Catalog.
func (s *Store) Definitions(ctx context.Context) ([]string, error) {
	keys, err := s.client.HKeys(ctx, s.keys.definitions()).Result()
	slices.Sort(keys)
	return keys, err
}

// Statistics implements store.Reader.
func (s *Store) Statistics(ctx context.Context, partition int) (store.Statistics, error) {
	k := &s.keys.partitions[partition]
	var ready, due, closed, outbox *redis.IntCmd
	var meta *redis.SliceCmd
	var kept *redis.StringCmd
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		ready, due, closed = p.ZCard(ctx, k.ready), p.ZCard(ctx, k.due), p.ZCard(ctx, k.closed)
		outbox, meta = p.XLen(ctx, k.outbox), p.HMGet(ctx, k.meta, "repairs", "losses")
		kept = p.Get(ctx, k.time)
	})
	if err != nil {
		return store.Statistics{}, fmt.Errorf("count partition %d: %w", partition, err)
	}
	return store.Statistics{
		Ready: ready.Val(), Waiting: due.Val(), Closed: closed.Val(), Outbox: outbox.Val(),
		Repairs: integer(meta.Val()[0]), Losses: integer(meta.Val()[1]), Jumps: newReading(0, kept.Val()).jumps,
	}, nil
}

// Hints implements store.Reader.
func (s *Store) Hints(ctx context.Context) <-chan store.Hint {
	hints := make(chan store.Hint, 256)
	channels := []string{s.keys.hints()}
	if s.works {
		channels = append(channels, s.keys.workers())
	}
	subscription := s.client.Subscribe(ctx, channels...)
	go func() {
		defer close(hints)
		defer subscription.Close() // its error is that it is closed already
		messages := subscription.Channel(redis.WithChannelSize(1024))
		for {
			select {
			case <-ctx.Done():
				return
			case m, ok := <-messages:
				if !ok {
					return
				}
				select {
				case hints <- parseHint(m.Payload):
				default: // the reader is behind, and polls anyway
				}
			}
		}
	}()
	return hints
}

func parseHint(text string) store.Hint {
	n, mail, _ := strings.Cut(text, " ")
	partition, err := strconv.Atoi(n)
	if err != nil {
		return store.Hint{Partition: -1}
	}
	h := store.Hint{Partition: partition}
	if mail != "" {
		h.Mail = instanceOf(mail)
	}
	return h
}
