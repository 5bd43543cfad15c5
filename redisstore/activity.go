package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// queueMember returns the member of a queue in the set of non-empty queues.
func queueMember(q store.Queue) string { return q.Name + " " + q.Namespace }

func activityField(effect interpreter.EffectID) string {
	return fieldActivity + strconv.Itoa(int(effect))
}

// addActivity adds an activity that was read from a field of its run.
func addActivity(all []store.StoredActivity, field, value string) ([]store.StoredActivity, error) {
	effect, err := strconv.Atoi(strings.TrimPrefix(field, fieldActivity))
	if err != nil {
		return all, fmt.Errorf("%q is not a field of a run", field)
	}
	a, err := store.ParseActivity(value)
	if form.IsNewer(err) {
		return all, err
	}
	if err != nil { // it counts as lost, and is scheduled again
		return all, nil
	}
	at, _ := slices.BinarySearchFunc(all, effect, func(a store.StoredActivity, effect int) int { return int(a.Effect) - effect })
	return slices.Insert(all, at, store.StoredActivity{Effect: interpreter.EffectID(effect), Activity: a}), nil
}

// activities writes the changes of the run's activities.
func (b *batch) activities(to *subject, of *store.Change) {
	for n := range of.Activities {
		b.activity(to, &of.Activities[n])
	}
}

func (b *batch) activity(to *subject, c *store.ActivityChange) {
	id := store.ActivityID{Run: to.instance, Effect: c.Effect}
	k, member, field := to.keys, id.String(), activityField(c.Effect)
	q := store.Queue{Name: c.Queue, Namespace: to.instance.Namespace}
	if c.From != nil {
		b.check("ACTIVITY", k.instance(to.instance), field+" "+c.From.String())
	}
	if c.Once != "" {
		b.do("REMEMBER", k.seen, c.Once, (store.Remembered - store.ReportRemembered).Milliseconds())
	}
	waited := c.From != nil && !c.From.Available.IsZero() || c.From == nil && c.To == nil
	waits := c.To != nil && !c.To.Available.IsZero()
	switch {
	case waits:
		b.do("ZADD", k.queue(q), store.Millis(c.To.Available), member)
		b.do("ZADD", k.queued, 0, queueMember(q))
	case waited:
		b.dequeue(k, q, member)
	}
	switch {
	case c.To != nil && !c.To.Due.IsZero():
		b.do("ZADD", k.activities, store.Millis(c.To.Due), member)
	case c.From == nil || !c.From.Due.IsZero():
		b.do("ZREM", k.activities, member)
	}
	switch {
	case c.To == nil:
		b.onInstance("HDEL", field)
		b.do("HDEL", k.payloads(to.instance), field)
	case c.From == nil:
		b.do("HSET", k.payloads(to.instance), field, c.Input)
		fallthrough
	default:
		b.onInstance("HSET", field, c.To.String())
	}
}

// activityRead is an activity with the record of its run, as they were read.
type activityRead struct {
	kept
	id       store.ActivityID
	activity *store.Activity // nil if it is not there, or cannot be read
	newer    error           // why it cannot be read if a newer build has written it
	input    string
}

// refusal returns why nothing can be done with the activity: its run or its record cannot be read, and must not be overwritten.
func (r *activityRead) refusal() error {
	if r.newer != nil {
		return store.RefuseUnreadable("activity "+r.id.String(), r.newer, time.Time{})
	}
	return r.kept.refusal("run " + r.id.Run.String())
}

// lookAtActivities reads activities of a partition, and its time.
func (s *Store) lookAtActivities(ctx context.Context, c *store.ChangeActivities, ids []store.ActivityID) ([]activityRead, time.Time, error) {
	k := &s.keys.partitions[c.Partition]
	fields, inputs := make([]*redis.SliceCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	now, err := s.timedEach(ctx, c.Partition, func(p redis.Pipeliner) {
		for n, id := range ids {
			fields[n] = p.HMGet(ctx, k.instance(id.Run), fieldRecord, fieldMail, activityField(id.Effect))
			if c.Input {
				inputs[n] = p.HGet(ctx, k.payloads(id.Run), activityField(id.Effect))
			}
		}
	})
	if err != nil {
		return nil, now, fmt.Errorf("read %d activities: %w", len(ids), err)
	}
	all := make([]activityRead, len(ids))
	for n := range ids {
		all[n].id = ids[n]
		all[n].kept = keptIn(fields[n])
		values := fields[n].Val()
		if len(values) != 3 {
			continue
		}
		if text, ok := values[2].(string); ok {
			a, err := store.ParseActivity(text)
			switch {
			case err == nil:
				all[n].activity = &a
			case form.IsNewer(err):
				all[n].newer = err
			}
		}
		if c.Input {
			all[n].input = inputs[n].Val()
		}
	}
	return all, now, nil
}

// ChangeActivities implements store.Activities.
func (s *Store) ChangeActivities(ctx context.Context, c store.ChangeActivities) ([]store.ActivityChanged, error) {
	all := make([]store.ActivityChanged, len(c.Activities))
	open := make([]int, len(all)) // which of them are not settled
	for n := range open {
		open[n] = n
	}
	for range maxAttempts {
		if len(open) == 0 {
			return all, nil
		}
		var left []int
		for some := range slices.Chunk(open, maxChanges) {
			again, err := s.changeActivities(ctx, &c, some, all)
			if err != nil {
				return nil, err
			}
			left = append(left, again...)
		}
		open = left
	}
	return nil, fmt.Errorf("activities of partition %d: others write to them all the time", c.Partition)
}

// activitiesOf reads some of the activities of an operation, and the time. Those of which nothing can be done are looked at again later.
func (s *Store) activitiesOf(ctx context.Context, c *store.ChangeActivities, some []int) ([]activityRead, time.Time, error) {
	ids := make([]store.ActivityID, len(some))
	for at, n := range some {
		ids[at] = c.Activities[n]
	}
	read, now, err := s.lookAtActivities(ctx, c, ids)
	if err != nil {
		return nil, now, err
	}
	return read, now, s.readLater(ctx, c.Partition, read, now)
}

// changeActivities applies an operation to some of the activities, and returns the activities that others changed concurrently.
func (s *Store) changeActivities(ctx context.Context, c *store.ChangeActivities, some []int, all []store.ActivityChanged) (again []int, err error) {
	read, now, err := s.activitiesOf(ctx, c, some)
	if err != nil {
		return nil, err
	}
	b := s.newBatch(c.Partition, len(some))
	var sent []int
	for at, n := range some {
		is := &read[at]
		if all[n], err = s.changeActivity(ctx, b, c, is, now); err != nil {
			return nil, err
		}
		if c.Input && all[n].Refused == nil {
			all[n].Input = []byte(is.input)
		}
		if b.changes > len(sent) {
			sent = append(sent, n)
		}
	}
	answers, err := s.applyAll(ctx, &s.scripts.applyFull, c.Partition, b)
	if err != nil {
		return nil, err
	}
	for at, r := range answers {
		switch id := c.Activities[sent[at]]; r.code {
		case "OK", "SEEN":
		case "CHANGED", "ACTIVITY", string(store.TooEarly):
			again = append(again, sent[at])
		case codeDamaged:
			return nil, fmt.Errorf("activity %s: %w", id, damagedBy(r))
		default:
			all[sent[at]] = store.ActivityChanged{Refused: refusal(r, "activity "+id.String())}
		}
	}
	return again, nil
}

// changeActivity writes the change of one activity, if there is a change.
func (s *Store) changeActivity(ctx context.Context, b *batch, c *store.ChangeActivities, is *activityRead, now time.Time) (store.ActivityChanged, error) {
	id := is.id
	if err := is.refusal(); err != nil {
		return store.ActivityChanged{Refused: err}, nil
	}
	changed := store.ActivityChanged{Was: is.activity, Activity: is.activity}
	to := s.subjectIn(c.Partition, id.Run)
	change, code := c.Transition(id, is.lifecycle, is.activity, now)
	if code != "" {
		changed.Refused = &store.Refusal{Code: code, Detail: "activity " + id.String(), At: now}
		if is.activity == nil || code == store.Corrupt {
			if _, err := s.lostActivity(ctx, to, is); err != nil {
				return changed, err
			}
		}
		if once := c.Operation.Once(id); once != "" {
			err := s.unlessSeen(ctx, to, once, changed.Refused)
			if err != nil && store.RefusedAs(err) == "" {
				return changed, err
			}
			changed.Refused = err
		}
		return changed, nil
	}
	if change.Done {
		return changed, nil
	}
	changed.Activity = change.Activities[0].To
	if change.Refused != "" {
		changed.Refused = &store.Refusal{Code: change.Refused, Detail: "activity " + id.String(), At: now}
	}
	record := rewrite{anyRecord, anyRecord}
	if change.Message != nil || change.WithRecord {
		record = rewrite{is.text, change.To.String()}
	}
	s.write(b, to, change, record)
	return changed, nil
}

// queues returns the queues of a partition with waiting activities: the queues with the given names, or all for nil.
func (s *Store) queues(ctx context.Context, partition int, names []string) (all []store.Queue, err error) {
	between := []*redis.ZRangeBy{{Min: "-", Max: "+"}}
	if names != nil {
		between = nil
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		// Names contain no space, so that these bounds contain the members of the name in all namespaces.
		between = append(between, &redis.ZRangeBy{Min: "[" + name + " ", Max: "(" + name + "!"})
	}
	members := make([]*redis.StringSliceCmd, len(between))
	err = s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
		for n, by := range between {
			members[n] = p.ZRangeByLex(ctx, s.keys.partitions[partition].queued, by)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the queues of partition %d: %w", partition, err)
	}
	for _, some := range members {
		for _, member := range some.Val() {
			name, namespace, _ := strings.Cut(member, " ")
			all = append(all, store.Queue{Name: name, Namespace: namespace})
		}
	}
	return all, nil
}

// lookedAt is how many queues Available looks at together. It looks at others only if they do not have as many activities as are asked for.
const lookedAt = 50

// Available implements store.Activities.
func (s *Store) Available(ctx context.Context, c store.Available) (offered store.Offered, err error) {
	all, err := s.queues(ctx, c.Partition, c.Queues)
	if err != nil {
		return offered, err
	}
	all = slices.DeleteFunc(all, func(q store.Queue) bool { return !c.Asks(q) })
	var damaged error
	for some := range slices.Chunk(store.InTurn(c.Turn, all), lookedAt) {
		hurt, err := s.addAvailable(ctx, &c, some, &offered)
		if err != nil || len(offered.Activities) >= c.N {
			return offered, err
		}
		damaged = cmp.Or(damaged, hurt)
	}
	s.damaged.note(c.Partition, damaged)
	if len(offered.Activities) > 0 {
		return offered, nil // the other queues are read; a caller that asks again when they are empty gets the error
	}
	return offered, damaged
}

// addAvailable adds activities that wait in some queues, as many as are still asked for. It returns besides that a queue is damaged.
func (s *Store) addAvailable(ctx context.Context, c *store.Available, some []store.Queue, offered *store.Offered) (damaged, err error) {
	left := c.N - len(offered.Activities)
	waiting := make([]*redis.ZSliceCmd, len(some))
	offered.At, err = s.timedEach(ctx, c.Partition, func(p redis.Pipeliner) {
		for n, q := range some {
			waiting[n] = p.ZRangeWithScores(ctx, s.keys.partitions[c.Partition].queue(q), 0, int64(left))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the queues of partition %d: %w", c.Partition, err)
	}
	lists := make([]firstMembers, len(some))
	for n, q := range some {
		lists[n] = firstMembers{s.keys.partitions[c.Partition].queue(q), waiting[n], isActivity}
	}
	if removed, err := s.removeStrays(ctx, c.Partition, lists); removed || err != nil {
		if err != nil {
			return nil, err
		}
		return s.addAvailable(ctx, c, some, offered) // more activities may follow them
	}
	parts := make([][]store.ActivityID, len(some))
	for n := range some {
		damaged = cmp.Or(damaged, onlyDamage(waiting[n]))
		parts[n] = available(waiting[n].Val(), offered)
	}
	offered.Activities = append(offered.Activities, store.Fairly(left, parts)...)
	return damaged, nil
}

// available returns the activities among the first ones of a queue that may be taken.
func available(waiting []redis.Z, offered *store.Offered) (all []store.ActivityID) {
	for _, z := range waiting {
		if at := store.Moment(int64(z.Score)); at.After(offered.At) {
			offered.Next = interpreter.Earlier(offered.Next, at)
			break
		}
		if id, err := store.ParseActivityID(z.Member.(string)); err == nil {
			all = append(all, id)
		}
	}
	return all
}

// QueueLengths implements store.Activities.
func (s *Store) QueueLengths(ctx context.Context, partition int) ([]store.QueueLength, error) {
	all, err := s.queues(ctx, partition, nil)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	counts, firsts := make([]*redis.IntCmd, len(all)), make([]*redis.ZSliceCmd, len(all))
	err = s.exchange(ctx, partition, s.sharedPipeline, func(p redis.Pipeliner) {
		for n, q := range all {
			key := s.keys.partitions[partition].queue(q)
			counts[n], firsts[n] = p.ZCard(ctx, key), p.ZRangeWithScores(ctx, key, 0, 0)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the queues of partition %d: %w", partition, err)
	}
	var lengths []store.QueueLength
	for n, q := range all {
		if first := firsts[n].Val(); len(first) > 0 {
			lengths = append(lengths, store.QueueLength{Queue: q, Waiting: counts[n].Val(), Since: store.Moment(int64(first[0].Score))})
		}
	}
	return lengths, nil
}

// addDueActivities adds the due activities among the first ones to the work.
func addDueActivities(w *store.Work, first []redis.Z) {
	for _, z := range first {
		if at := store.Moment(int64(z.Score)); at.After(w.At) {
			w.Next = interpreter.Earlier(w.Next, at)
			return
		}
		if id, err := store.ParseActivityID(z.Member.(string)); err == nil {
			w.Activities = append(w.Activities, id)
		}
	}
}
