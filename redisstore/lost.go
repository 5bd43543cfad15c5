package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Activities that are lost, or are in no place where they are found. No transition of a store causes this; it results from manual changes.

// readLater moves the activities of which nothing can be done behind others in the lists where they are looked for. In their places they
// would hide others from a poll.
func (s *Store) readLater(ctx context.Context, partition int, read []activityRead, now time.Time) error {
	refused := slices.DeleteFunc(slices.Clone(read), func(is activityRead) bool { return is.refusal() == nil })
	if len(refused) == 0 {
		return nil
	}
	queues, err := s.queues(ctx, partition, nil)
	if err != nil {
		return err
	}
	at := float64(store.Millis(now.Add(store.LostActivityRecheck)))
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for n := range refused {
			for _, key := range s.keys.partitions[partition].activityLists(refused[n].id.Run, queues) {
				p.ZAddArgs(ctx, key, redis.ZAddArgs{XX: true, GT: true, Members: []redis.Z{{Score: at, Member: refused[n].id.String()}}})
			}
		}
	})
	if refusesWrites(err) {
		return nil
	}
	return err
}

// activityLists returns the keys of the lists in which activities of a run are looked for.
func (p *partitionKeys) activityLists(i store.Instance, queues []store.Queue) []string {
	keys := []string{p.activities}
	for _, q := range queues {
		if q.Namespace == i.Namespace {
			keys = append(keys, p.queue(q))
		}
	}
	return keys
}

// lostActivity has the run of an activity that is listed, and is not there or cannot be read, schedule it again. It reports whether the
// activity was listed, and was taken off the lists.
func (s *Store) lostActivity(ctx context.Context, to *subject, is *activityRead) (listed bool, err error) {
	queues, err := s.queues(ctx, to.partition, nil)
	if err != nil {
		return false, err
	}
	queues = slices.DeleteFunc(queues, func(q store.Queue) bool { return q.Namespace != is.id.Run.Namespace })
	keys := to.keys.activityLists(is.id.Run, queues)
	member, stands := is.id.String(), make([]*redis.FloatCmd, len(keys))
	now, err := s.timed(ctx, to.partition, func(p redis.Pipeliner) {
		for n, key := range keys {
			stands[n] = p.ZScore(ctx, key, member)
		}
	})
	for _, c := range stands {
		listed = listed || err == nil && c.Err() == nil
	}
	if err != nil || !listed {
		return false, err
	}
	return s.unlist(ctx, to, is, queues, now)
}

// unlist removes a lost activity from the lists and queues, and makes its run ready, in one step: the owner of the run may list the activity again a moment
// later. If the run is held, then the activity is looked at again later. If the run changed concurrently, then nothing is removed, and the
// next poll that finds the activity repeats this.
func (s *Store) unlist(ctx context.Context, to *subject, is *activityRead, queues []store.Queue, now time.Time) (done bool, err error) {
	b := s.newBatch(to.partition, 1)
	change, code := store.LostActivity().Transition(is.lifecycle, now)
	if code == "" {
		s.write(b, to, change, rewrite{is.text, change.To.String()})
	} else {
		b.begin(to, is.text)
	}
	b.unlist(to.keys, is.id, queues)
	if code == store.Conflict {
		b.do("ZADD", to.keys.activities, store.Millis(now.Add(store.LostActivityRecheck)), is.id.String())
	}
	r, err := s.send(ctx, &s.scripts.applyFull, to, b)
	if errors.Is(err, errDeleted) { // no run of this name can start, so that nothing lists the activity again
		b = s.newBatch(to.partition, 1)
		b.begin(to, anyRecord)
		b.unlist(to.keys, is.id, queues)
		r, err = s.send(ctx, &s.scripts.applyFull, to, b)
	}
	return r.code == "OK", err
}

// unlist removes an activity from the list of due activities and from queues.
func (b *batch) unlist(k *partitionKeys, id store.ActivityID, queues []store.Queue) {
	b.do("ZREM", k.activities, id.String())
	for _, q := range queues {
		b.dequeue(k, q, id.String())
	}
}

// dequeue removes an activity from a queue. An empty queue is no longer among the queues with activities.
func (b *batch) dequeue(k *partitionKeys, q store.Queue, member string) {
	b.do("DEQUEUE", k.queue(q), member, queueMember(q))
	b.keys = append(b.keys, k.queued)
}

// scheduleAgain makes a run ready that lacks activities. It reports whether the run changed concurrently.
func (s *Store) scheduleAgain(ctx context.Context, to *subject, is *standing, now time.Time) (changed bool, err error) {
	change, code := store.LostActivity().Transition(is.lifecycle, now)
	if code != "" {
		return code == store.Conflict, nil
	}
	b := s.newBatch(to.partition, 1)
	s.write(b, to, change, rewrite{is.text, change.To.String()})
	r, err := s.send(ctx, &s.scripts.applyFull, to, b)
	return r.code != "OK", err
}

// lostActivities looks for activities that are listed as due and are lost, and has them scheduled again.
func (s *Store) lostActivities(ctx context.Context, c *store.Scrub, done *store.Scrubbed) error {
	partition := c.Partition
	k := &s.keys.partitions[partition]
	var members *redis.StringSliceCmd
	if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { members = p.ZRange(ctx, k.activities, 0, mostLost-1) }); err != nil {
		return err
	}
	var ids []store.ActivityID
	for _, member := range members.Val() {
		if id, err := store.ParseActivityID(member); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	read, _, err := s.lookAtActivities(ctx, &store.ChangeActivities{Partition: partition}, ids)
	for n := range read {
		if read[n].activity != nil || read[n].refusal() != nil || err != nil {
			continue
		}
		listed := true // so it was read
		if !c.Check {
			listed, err = s.lostActivity(ctx, s.subjectIn(partition, ids[n].Run), &read[n])
		}
		if listed {
			done.Repaired = append(done.Repaired, fmt.Sprintf("%s: activity %d was lost", ids[n].Run, ids[n].Effect))
		}
	}
	return err
}

// mostLost is how many of the activities that are due next scrubbing looks at; others are looked at when they are due.
const mostLost = 1000

// listing is the place of an activity of a run.
type listing struct {
	field, text string
	activity    store.StoredActivity
	queue       store.Queue
	queued, due *redis.FloatCmd
	known       *redis.FloatCmd // its queue is in the set of non-empty queues
}

// wrong reports whether the activity is in no place where it is found, or in a wrong place.
func (l *listing) wrong() bool {
	stands := func(c *redis.FloatCmd, at time.Time) bool {
		return at.IsZero() == (c.Err() != nil) && (at.IsZero() || int64(c.Val()) == store.Millis(at))
	}
	return !stands(l.queued, l.activity.Available) || !stands(l.due, l.activity.Due) || !l.activity.Available.IsZero() && l.known.Err() != nil
}

// misplacedActivities finds the misplaced activities of some runs.
func (s *Store) misplacedActivities(ctx context.Context, partition int, found []standing) error {
	k := &s.keys.partitions[partition]
	var of []*standing
	for n := range found {
		if is := &found[n]; is.lifecycle != nil && is.damaged == nil && is.lifecycle.Status != interpreter.StatusPending && !is.lifecycle.Status.Final() {
			of = append(of, is)
		}
	}
	if len(of) == 0 {
		return nil
	}
	fields := make([]*redis.StringSliceCmd, len(of))
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for n, is := range of {
			fields[n] = p.HKeys(ctx, k.instance(is.instance))
		}
	})
	for n, is := range of {
		if err == nil {
			err = s.misplaced(ctx, partition, is, fields[n].Val())
		}
	}
	return err
}

// misplaced finds the misplaced activities of a run.
func (s *Store) misplaced(ctx context.Context, partition int, is *standing, fields []string) error {
	names := slices.DeleteFunc(fields, func(field string) bool { return !strings.HasPrefix(field, fieldActivity) })
	if len(names) == 0 {
		is.countActivities(0)
		return nil
	}
	k := &s.keys.partitions[partition]
	var values *redis.SliceCmd
	if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { values = p.HMGet(ctx, k.instance(is.instance), names...) }); err != nil {
		return err
	}
	var all []*listing
	for n, value := range values.Val() {
		text, _ := value.(string)
		some, err := addActivity(nil, names[n], text)
		if form.IsNewer(err) { // it is not lost
			return nil
		}
		if err == nil && len(some) == 1 {
			all = append(all, &listing{field: names[n], text: text, activity: some[0], queue: store.Queue{Name: some[0].Queue, Namespace: is.instance.Namespace}})
		}
	}
	is.countActivities(len(all))
	err := s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for _, l := range all {
			member := l.id(is).String()
			l.queued, l.due = p.ZScore(ctx, k.queue(l.queue), member), p.ZScore(ctx, k.activities, member)
			l.known = p.ZScore(ctx, k.queued, queueMember(l.queue))
		}
	})
	for _, l := range all {
		if err == nil && l.wrong() {
			is.misplaced = append(is.misplaced, l)
		}
	}
	return err
}

// countActivities notes whether there are fewer activities of a run than it waits for.
func (is *standing) countActivities(stored int) {
	if is.lifecycle.LacksActivities(stored) {
		is.lacks = store.LostActivities(is.instance, is.lifecycle, stored)
	}
}

// lackingActivities makes runs ready that lack activities.
func (s *Store) lackingActivities(ctx context.Context, c *store.Scrub, found []standing, done *store.Scrubbed) error {
	for n := range found {
		is := &found[n]
		if is.lacks == "" {
			continue
		}
		if !c.Check {
			now, err := s.time(ctx, c.Partition)
			if err != nil {
				return err
			}
			again, err := s.scheduleAgain(ctx, s.subjectIn(c.Partition, is.instance), is, now)
			if err != nil {
				return err
			}
			if again { // it changed concurrently
				continue
			}
		}
		is.woken = true
		done.Repaired = append(done.Repaired, is.lacks)
	}
	return nil
}

func (l *listing) id(is *standing) store.ActivityID {
	return store.ActivityID{Run: is.instance, Effect: l.activity.Effect}
}

// replace puts an activity in the place of its record, if the record is unchanged.
func (b *batch) replace(to *subject, is *standing, l *listing) {
	k, member := to.keys, l.id(is).String()
	b.check("ACTIVITY", k.instance(is.instance), l.field+" "+l.text)
	if at := l.activity.Available; !at.IsZero() {
		b.do("ZADD", k.queue(l.queue), store.Millis(at), member)
		b.do("ZADD", k.queued, 0, queueMember(l.queue))
	} else {
		b.dequeue(k, l.queue, member)
	}
	if at := l.activity.Due; !at.IsZero() {
		b.do("ZADD", k.activities, store.Millis(at), member)
	} else {
		b.do("ZREM", k.activities, member)
	}
	is.wrong(fmt.Sprintf("activity %d stood at a wrong place", l.activity.Effect))
}
