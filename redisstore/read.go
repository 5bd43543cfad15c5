package redisstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// pipelined sends commands to the server of a partition, and repeats them while the connection fails.
func (s *Store) pipelined(ctx context.Context, partition int, f func(redis.Pipeliner)) error {
	return s.exchange(ctx, partition, s.ownPipeline((*redis.Client).Pipeline), f)
}

// exchange has the commands that f adds answered by the server of a partition, and repeats them while the connection fails.
func (s *Store) exchange(ctx context.Context, partition int, send sending, f func(redis.Pipeliner)) error {
	for failures := 1; ; failures++ {
		n, err := s.node(ctx, partition)
		if err == nil {
			err = send(ctx, n, f)
		}
		if err == nil {
			n.outage.answered(s.uptime)
			return nil
		}
		if ctx.Err() != nil || !s.passes(ctx, err) {
			s.damaged.note(partition, err)
			return err
		}
		s.failed(n, err)
		pause(ctx, failures)
	}
}

// sending is a way of sending commands. If it fails, their answers must not be looked at: they may still come.
type sending func(ctx context.Context, n *node, f func(redis.Pipeliner)) error

// ownPipeline sends commands in a pipeline of their own, which may be a transaction.
func (s *Store) ownPipeline(pipe func(*redis.Client) redis.Pipeliner) sending {
	return s.judgedPipeline(pipe, firstError)
}

// judgedPipeline is ownPipeline; judge decides whether the answers are an error.
func (s *Store) judgedPipeline(pipe func(*redis.Client) redis.Pipeliner, judge func([]redis.Cmder, error) error) sending {
	return func(ctx context.Context, n *node, f func(redis.Pipeliner)) error {
		p := pipe(n.client)
		f(p)
		answered := n.outage.awaits(s.uptime)
		commands, failed := p.Exec(ctx)
		answered()
		return judge(commands, failed)
	}
}

// sharedPipeline sends commands in the next pipeline of the node, together with requests of other callers, who wait for these answers too.
func (s *Store) sharedPipeline(ctx context.Context, n *node, f func(redis.Pipeliner)) error {
	p := n.client.Pipeline()
	f(p)
	r := &request{unwanted: ctx.Done(), commands: p.Cmds(), done: make(chan struct{})}
	if err := s.enqueue(ctx, n, r); err != nil {
		return err
	}
	return firstError(r.commands, r.err)
}

// firstError returns the first error of some commands. That something is not there is not an error.
func firstError(commands []redis.Cmder, otherwise error) error {
	for _, c := range commands {
		if err := damage(c); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	if errors.Is(otherwise, redis.Nil) {
		return nil
	}
	return otherwise
}

// Load implements store.Reader.
func (s *Store) Load(ctx context.Context, i store.Instance) (store.Loaded, error) {
	n, k := s.of(i)
	var fields *redis.MapStringStringCmd
	var leases *redis.StringCmd
	err := s.pipelined(ctx, n, func(p redis.Pipeliner) {
		fields, leases = p.HGetAll(ctx, k.instance(i)), p.Get(ctx, k.leases)
	})
	if err != nil {
		return store.Loaded{}, fmt.Errorf("load run %s: %w", i, err)
	}
	if len(fields.Val()) == 0 {
		return store.Loaded{}, s.absent(ctx, i)
	}
	l, err := readLoaded(fields.Val())
	if err != nil {
		err = store.RefuseUnreadable("run "+i.String(), err, time.Time{})
	}
	l.Lifecycle.Lease = parseLeases(leases.Val())[l.Lifecycle.Owner]
	return l, err
}

// indexEntry matches the IDs of entries of the index.
var indexEntry = lazyregexp.New(`^\d{1,19}-\d{1,19}$`)

var errNamesNoRun = errors.New("it names no run")

// List implements store.Reader.
func (s *Store) List(ctx context.Context, partition int, cursor string, n int) (store.Page, error) {
	k := &s.keys.partitions[partition]
	from := "+"
	if cursor != "" {
		if !indexEntry().MatchString(cursor) {
			return store.Page{}, store.Refuse(store.NoSuch, time.Time{}, "cursor %q of partition %d", cursor, partition)
		}
		from = "(" + cursor
	}
	var entries *redis.XMessageSliceCmd
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { entries = p.XRevRangeN(ctx, k.index, from, "-", int64(n)) })
	if err != nil {
		return store.Page{}, fmt.Errorf("list partition %d: %w", partition, err)
	}
	instances := make([]*redis.SliceCmd, len(entries.Val()))
	if len(instances) == 0 {
		return store.Page{}, nil
	}
	var leases *redis.StringCmd
	err = s.tolerant(ctx, partition, func(p redis.Pipeliner) {
		leases = p.Get(ctx, k.leases)
		for n, m := range entries.Val() {
			instances[n] = p.HMGet(ctx, k.instance(indexed(m)), fieldRecord, fieldMail, fieldInfo)
		}
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("list partition %d: %w", partition, err)
	}
	var page store.Page
	lasting := parseLeases(leases.Val())
	for n, m := range entries.Val() {
		page.Cursor = m.ID
		is, i := keptIn(instances[n]), indexed(m)
		if i == (store.Instance{}) {
			bad := store.RefuseUnreadable(fmt.Sprintf("the entry %s of the key %s", m.ID, k.index), errNamesNoRun, time.Time{})
			page.Unreadable = append(page.Unreadable, store.Unreadable{Instance: i, Err: bad})
			continue
		}
		if is.lifecycle == nil && is.damaged == nil {
			u, gone, err := s.lacksRecord(ctx, partition, entry{m.ID, i})
			if err != nil {
				return store.Page{}, err
			}
			if !gone {
				page.Unreadable = append(page.Unreadable, u)
			}
		}
		if is.damaged != nil {
			page.Unreadable = append(page.Unreadable, store.Unreadable{Instance: i, Err: is.refusal("run " + i.String())})
		}
		if is.lifecycle == nil || is.damaged != nil {
			continue // it has just been removed, or cannot be read
		}
		is.lifecycle.Lease = lasting[is.lifecycle.Owner]
		info, _ := instances[n].Val()[2].(string)
		page.Items = append(page.Items, store.Listed{Instance: i, Lifecycle: *is.lifecycle, Invocation: []byte(info), Cursor: m.ID})
	}
	if len(entries.Val()) < n {
		page.Cursor = ""
	}
	return page, nil
}

// Upcoming implements store.Reader.
func (s *Store) Upcoming(ctx context.Context, partition int, until time.Time) (all []store.Instance, err error) {
	k := &s.keys.partitions[partition]
	sets, activities := map[store.Set]*redis.StringSliceCmd{}, &redis.StringSliceCmd{}
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for _, set := range []store.Set{store.SetNew, store.SetBegun, store.SetHeld} {
			sets[set] = p.ZRange(ctx, k.sets[set], 0, -1)
		}
		before := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(until.UnixMilli(), 10)}
		sets[store.SetWaiting], activities = p.ZRangeByScore(ctx, k.sets[store.SetWaiting], before), p.ZRangeByScore(ctx, k.activities, before)
	})
	for _, m := range activities.Val() {
		if id, err := store.ParseActivityID(m); err == nil {
			all = append(all, id.Run)
		}
	}
	for set, members := range sets {
		for _, m := range members.Val() {
			if !isStray(set, m) {
				all = append(all, instanceOf(m))
			}
		}
	}
	return all, err
}

// Inbox implements store.Reader.
func (s *Store) Inbox(ctx context.Context, i store.Instance, n int) (all []store.Message, err error) {
	p, k := s.of(i)
	var stored *redis.StringSliceCmd
	if n < 1 {
		return nil, nil
	}
	err = s.pipelined(ctx, p, func(p redis.Pipeliner) { stored = p.LRange(ctx, k.inbox(i), 0, int64(n-1)) })
	if err != nil {
		return nil, fmt.Errorf("read the inbox of %s: %w", i, err)
	}
	for _, m := range stored.Val() {
		all = append(all, store.Message(m))
	}
	return all, nil
}

// History implements store.Reader. The record contains the number of entries. If some are missing, record and entries are read once more in
// one request, since the run may have been removed between the two reads.
func (s *Store) History(ctx context.Context, i store.Instance, from, n int) (all []store.StoredEntry, err error) {
	for _, pipe := range []func(*redis.Client) redis.Pipeliner{(*redis.Client).Pipeline, (*redis.Client).TxPipeline} {
		if all, err = s.history(ctx, i, from, n, pipe); !store.IsUnreadable(err) {
			break
		}
	}
	return all, err
}

func (s *Store) history(ctx context.Context, i store.Instance, from, n int, pipe func(*redis.Client) redis.Pipeliner) ([]store.StoredEntry, error) {
	p, k := s.of(i)
	var stored *redis.StringSliceCmd
	var record *redis.SliceCmd
	var there, length *redis.IntCmd
	err := s.exchange(ctx, p, s.ownPipeline(pipe), func(p redis.Pipeliner) {
		there, record = p.Exists(ctx, k.instance(i)), p.HMGet(ctx, k.instance(i), fieldRecord, fieldMail)
		length, stored = p.LLen(ctx, k.history(i)), p.LRange(ctx, k.history(i), int64(from), int64(from+n-1))
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", i, err)
	}
	if there.Val() == 0 {
		return nil, s.absent(ctx, i)
	}
	all := make([]store.StoredEntry, len(stored.Val()))
	for n, text := range stored.Val() {
		if all[n], err = store.ParseEntry([]byte(text)); err != nil {
			return nil, store.RefuseUnreadable("run "+i.String(), err, time.Time{})
		}
	}
	if is := newKept(record.Val()[0], record.Val()[1]); is.lifecycle != nil && is.damaged == nil {
		err = is.lifecycle.CheckHistory(i, 0, math.MaxInt, int(length.Val()))
	}
	return all, err
}

// Payload implements store.Reader.
func (s *Store) Payload(ctx context.Context, i store.Instance, ref string) ([]byte, error) {
	p, k := s.of(i)
	var data *redis.StringCmd
	err := s.pipelined(ctx, p, func(p redis.Pipeliner) { data = p.HGet(ctx, k.payloads(i), ref) })
	if err != nil {
		return nil, fmt.Errorf("read a payload of %s: %w", i, err)
	}
	if errors.Is(data.Err(), redis.Nil) {
		return nil, &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("payload %s of run %s", ref, i)}
	}
	return data.Bytes()
}

// touch reads a little of each key that Statistics does not count: an overwritten key is an error, which Statistics then returns.
func (p *partitionKeys) touch(ctx context.Context, of redis.Pipeliner) {
	for _, key := range []string{p.listeners, p.needs, p.activities, p.queued, p.seen} {
		of.ZCard(ctx, key)
	}
	of.SCard(ctx, p.notices)
	of.XLen(ctx, p.index)
	of.StrLen(ctx, p.leases)
}

// checkVersions reports the number of the last version of an entry if it is one that scripts cannot raise.
func (p *partitionKeys) checkVersions(is *redis.StringCmd) error {
	if is.Err() == nil && !p.fits(p.versions(), "string", is.Val()) {
		return &damagedKeyError{p.versions(), errMisfit}
	}
	return nil
}

// earliest returns the earliest time of the members of sets; zero without members.
func earliest(of map[store.Set]*redis.ZSliceCmd) (since time.Time) {
	for set, first := range of {
		for _, z := range first.Val() {
			if !isStray(set, z.Member.(string)) {
				since = interpreter.Earlier(since, store.Moment(int64(z.Score)))
			}
		}
	}
	return since
}

// Statistics implements store.Reader.
func (s *Store) Statistics(ctx context.Context, partition int) (store.Statistics, error) {
	k := &s.keys.partitions[partition]
	sizes := map[store.Set]*redis.IntCmd{}
	var outbox, quarantined, unreadable, retrying, backlog *redis.IntCmd
	var meta *redis.SliceCmd
	var times, versions *redis.StringCmd
	oldest := map[store.Set]*redis.ZSliceCmd{store.SetNew: nil, store.SetBegun: nil}
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for _, set := range store.Sets() {
			sizes[set] = p.ZCard(ctx, k.sets[set])
		}
		for set := range oldest {
			oldest[set] = p.ZRangeWithScores(ctx, k.sets[set], 0, 0)
		}
		outbox, meta = p.XLen(ctx, k.outbox), p.HMGet(ctx, k.meta, "repairs", "losses")
		quarantined, times = p.SCard(ctx, k.quarantined), p.Get(ctx, k.time)
		unreadable = p.SCard(ctx, k.unreadable)
		waits := strconv.Itoa(int(store.RetryWaits))
		retrying, backlog = p.ZCard(ctx, k.retrying), p.ZCount(ctx, k.retrying, waits, waits)
		versions = p.Get(ctx, k.versions())
		k.touch(ctx, p)
	})
	if err == nil {
		err = k.checkVersions(versions)
	}
	if err != nil {
		return store.Statistics{}, fmt.Errorf("count partition %d: %w", partition, err)
	}
	return store.Statistics{
		Held: sizes[store.SetHeld].Val(), Oldest: earliest(oldest),
		Ready: sizes[store.SetNew].Val() + sizes[store.SetBegun].Val(), Waiting: sizes[store.SetWaiting].Val() + sizes[store.SetHeld].Val(),
		Closed: sizes[store.SetClosed].Val(), Outbox: outbox.Val(), Quarantined: quarantined.Val(), Unreadable: unreadable.Val(),
		Retrying: retrying.Val(), Backlog: backlog.Val(),
		Repairs: integer(meta.Val()[0]), Losses: integer(meta.Val()[1]), Jumps: newReading(0, times.Val()).jumps,
	}, nil
}
