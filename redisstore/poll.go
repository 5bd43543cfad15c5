package redisstore

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Poll implements store.Reader.
func (s *Store) Poll(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	passed := &s.passed[partition]
	passed.Retry()
	w, err := s.pollInTime(ctx, partition, n, expired)
	passed.Leave(n, &w)
	return w, err
}

// pollInTime polls, and polls again if the clock of the server was wrong.
func (s *Store) pollInTime(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	sent := s.uptime()
	w, at, err := s.poll(ctx, partition, n, expired)
	if err != nil {
		return w, err
	}
	off := s.clocks[partition].jumped(at, sent, s.uptime())
	wrong := off != 0 || at.wentBack()
	if wrong || s.clocks[partition].confirms(at, sent) {
		// A difference is sent instead of a time, since the request may be delayed.
		err := s.correct(ctx, partition, off, at.offset)
		if refusesWrites(err) {
			return w, nil // by the server's own clock; the scripts check later writes
		}
		if err != nil {
			return store.Work{}, err
		}
	}
	if wrong {
		sent = s.uptime()
		if w, at, err = s.poll(ctx, partition, n, expired); err != nil {
			return w, err
		}
	}
	s.clocks[partition].observe(w.At.UnixMilli(), sent, s.uptime())
	return w, nil
}

// fewDue is the expected number of due runs among the waiting and held runs. If there are more, the poll reads these sets again.
const fewDue = 4

// polled contains the data that a poll reads.
type polled struct {
	far    int // how many runs are read of a set: more than the poll returns, if some are passed over
	now    *redis.TimeCmd
	texts  *redis.SliceCmd // of the time and the leases
	sets   map[store.Set]*redis.ZSliceCmd
	outbox *redis.XMessageSliceCmd
	// activities are the first that have a deadline.
	activities *redis.ZSliceCmd
	needs      *redis.StringSliceCmd // the first entry; nil if it is known
}

// read reads up to n of each kind.
func (r *polled) read(ctx context.Context, p redis.Pipeliner, k *partitionKeys, n int, expired bool) {
	r.now, r.texts = p.Time(ctx), p.MGet(ctx, k.time, k.leases) // first: concurrent writes count as not seen
	r.sets = map[store.Set]*redis.ZSliceCmd{}
	for _, set := range store.Sets() {
		switch {
		case set == store.SetWaiting || set == store.SetHeld:
			r.sets[set] = p.ZRangeWithScores(ctx, k.sets[set], 0, int64(min(n, fewDue)))
		case set != store.SetClosed || expired:
			r.sets[set] = p.ZRangeWithScores(ctx, k.sets[set], 0, int64(r.far))
		}
	}
	r.activities = p.ZRangeWithScores(ctx, k.activities, 0, int64(min(n, fewDue)))
	r.outbox = p.XRangeN(ctx, k.outbox, "-", "+", int64(n))
}

// lists returns the sets that were read.
func (r *polled) lists(k *partitionKeys) []firstMembers {
	all := []firstMembers{{k.activities, r.activities, isActivity}}
	for set, read := range r.sets {
		all = append(all, firstMembers{k.sets[set], read, func(m string) bool { return !isStray(set, m) }})
	}
	return all
}

// poll also returns the parts of the time.
func (s *Store) poll(ctx context.Context, partition, n int, expired bool) (w store.Work, at reading, err error) {
	r := polled{far: n + s.passed[partition].Len()}
	for again := true; again; { // others may follow members that name nothing
		if at, err = s.readFirst(ctx, &r, partition, n, expired); err != nil {
			return w, at, err
		}
		if again, err = s.removeStrays(ctx, partition, r.lists(&s.keys.partitions[partition])); err != nil {
			return w, at, err
		}
	}
	w.At, w.Writes = store.Moment(at.now()), at.seq
	w.Begun, _ = members(r.sets[store.SetBegun].Val(), r.far)
	w.New, _ = members(r.sets[store.SetNew].Val(), r.far)
	if err := s.fairly(ctx, &w, partition, r.far); err != nil {
		return w, at, err
	}
	if expired {
		w.Expired, w.Closed = members(r.sets[store.SetClosed].Val(), r.far)
	}
	w.Outbox = outgoing(partition, r.outbox.Val())
	if w.Needs, err = s.needs(ctx, partition, at.seq, n, r.needs); err != nil {
		return w, at, err
	}
	addDue(&w, r.sets[store.SetWaiting].Val(), r.far)
	addDue(&w, r.sets[store.SetHeld].Val(), r.far)
	addDueActivities(&w, r.activities.Val())
	return w, at, s.addAllLeases(ctx, &w, &r, partition)
}

// readFirst reads the data of a poll, and returns the time of the partition.
func (s *Store) readFirst(ctx context.Context, r *polled, partition, n int, expired bool) (at reading, err error) {
	seen := s.seen[partition].Load() // before it is asked
	err = s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
		r.read(ctx, p, &s.keys.partitions[partition], n, expired)
		if _, known := s.needed[partition].at(seen); !known {
			r.needs = p.ZRange(ctx, s.keys.partitions[partition].needs, 0, 0)
		}
	})
	if err != nil {
		return at, fmt.Errorf("poll partition %d: %w", partition, err)
	}
	at = newReading(r.now.Val().UnixMilli(), r.texts.Val()[0])
	if at.seq < seen {
		return at, s.rolledBack(ctx, partition)
	}
	return at, s.readAllDue(ctx, r, partition, n, store.Moment(at.now()))
}

// addAllLeases adds the work that follows from the leases that were read.
func (s *Store) addAllLeases(ctx context.Context, w *store.Work, r *polled, partition int) error {
	leases, ok := r.texts.Val()[1].(string)
	if !ok && len(r.sets[store.SetHeld].Val()) > 0 {
		if err := s.isText(ctx, partition, s.keys.partitions[partition].leases); err != nil {
			return err
		}
	}
	return s.addLeases(ctx, w, partition, r.far, parseLeases(leases))
}

// isText returns an error if a text is a key of another type: MGET reads that as if it were not there.
func (s *Store) isText(ctx context.Context, partition int, key string) error {
	if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { p.Get(ctx, key) }); err != nil {
		return fmt.Errorf("poll partition %d: %w", partition, err)
	}
	return nil
}

// rolledBack returns the error of a partition that has lost writes, or whose time is a key of another type.
func (s *Store) rolledBack(ctx context.Context, partition int) error {
	if err := s.isText(ctx, partition, s.keys.partitions[partition].time); err != nil {
		return err
	}
	return &store.Refusal{Code: store.RolledBack, Detail: fmt.Sprintf("partition %d", partition)}
}

// readAllDue reads up to n of each set of which all members that were read are due.
func (s *Store) readAllDue(ctx context.Context, r *polled, partition, n int, now time.Time) error {
	waiting, held := r.sets[store.SetWaiting], r.sets[store.SetHeld]
	if !mayGoOn(waiting.Val(), now) && !mayGoOn(held.Val(), now) && !mayGoOn(r.activities.Val(), now) {
		return nil
	}
	k := &s.keys.partitions[partition]
	err := s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
		for _, set := range []store.Set{store.SetWaiting, store.SetHeld} {
			r.sets[set] = p.ZRangeWithScores(ctx, k.sets[set], 0, int64(r.far))
		}
		r.activities = p.ZRangeWithScores(ctx, k.activities, 0, int64(n))
	})
	if err != nil {
		return fmt.Errorf("poll partition %d: %w", partition, err)
	}
	return nil
}

// mayGoOn reports whether all of the first members of a set are due, so that those after them may be due too.
func mayGoOn(first []redis.Z, now time.Time) bool {
	return len(first) > fewDue && int64(first[fewDue].Score) <= now.UnixMilli() && !math.IsInf(first[fewDue].Score, 1)
}

// addLeases adds to the work the leases of workers, and up to n runs of workers whose leases expired.
func (s *Store) addLeases(ctx context.Context, w *store.Work, partition, n int, leases map[string]time.Time) error {
	var ended []string
	for worker, ends := range leases {
		if !ends.After(w.At) {
			ended = append(ended, worker)
		} else {
			w.Lease = interpreter.Earlier(w.Lease, ends)
		}
	}
	leased, err := s.ended(ctx, partition, n, ended)
	for _, lease := range leased {
		w.AddEnded(lease.Worker, lease.Instances)
	}
	return err
}

// addDue adds to the work the due runs among the first members of a set, up to n in total.
func addDue(w *store.Work, all []redis.Z, n int) {
	for _, z := range all {
		if math.IsInf(z.Score, 1) {
			return
		}
		if at := store.Moment(int64(z.Score)); at.After(w.At) || len(w.Due) >= n {
			w.Next = interpreter.Earlier(w.Next, at)
			return
		}
		w.Due = append(w.Due, instanceOf(z.Member.(string)))
	}
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

// members returns the first members of a set, at most n, and the time of the first.
func members(all []redis.Z, n int) (instances []store.Instance, first time.Time) {
	for at, z := range all[:min(len(all), n)] {
		if at == 0 {
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
