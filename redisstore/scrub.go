package redisstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// entry is a run's place in the list of all.
type entry struct {
	id       string
	instance store.Instance
}

// Scrub implements store.Store.
func (s *Store) Scrub(ctx context.Context, c store.Scrub) (done store.Scrubbed, err error) {
	if c.Registry {
		return s.scrubKeys(ctx, &c)
	}
	k := &s.keys.partitions[c.Partition]
	if c.Adopt && !c.Check {
		if done.Adopted, err = s.adopt(ctx, &c); err != nil {
			return done, err
		}
	}
	now, err := s.scrubPage(ctx, &c, &done)
	if err != nil || c.Check {
		return done, err
	}
	if done.Adopted {
		done.Repaired = nil // the loss explains them
	}
	return done, s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		p.ZRemRangeByScore(ctx, k.seen, "-inf", "("+strconv.FormatInt(store.Millis(now.Add(-store.Remembered)), 10))
		if n := len(done.Repaired); n > 0 {
			p.HIncrBy(ctx, k.meta, "repairs", int64(n))
		}
	})
}

// adopt takes over a partition as it is, and reports whether it is adopted. After the last run there is nothing more to adopt: runs that
// were claimed since must not be taken away.
func (s *Store) adopt(ctx context.Context, c *store.Scrub) (adopted bool, err error) {
	if isAfterRuns(c.Cursor) {
		return !c.Loss, nil
	}
	k := &s.keys.partitions[c.Partition]
	r, err := s.call(ctx, call{
		script: &s.scripts.adopt, partition: c.Partition, subject: "partition",
		keys: []any{k.time, k.meta, k.leases}, args: []any{flag(c.Loss), rand.Uint64()},
	})
	return err == nil && integer(r.values[0]) == 1, err
}

// scrubPage compares a page of runs, or of the sets after all runs. It returns the time.
func (s *Store) scrubPage(ctx context.Context, c *store.Scrub, done *store.Scrubbed) (now time.Time, err error) {
	if isAfterRuns(c.Cursor) {
		if now, err = s.time(ctx, c.Partition); err == nil {
			err = s.scrubRest(ctx, c, c.Cursor, done)
		}
		return now, err
	}
	entries, cursor, err := s.scan(ctx, c.Partition, c.Cursor, c.N)
	if err != nil {
		return now, err
	}
	if entries, err = s.withoutStrays(ctx, c, entries, done); err != nil {
		return now, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !c.Chooses(e.instance) })
	done.Cursor, done.Compared = cursor, len(entries)
	if now, err = s.repairAll(ctx, c, entries, done); err == nil && c.Cursor == "" && c.Only == nil {
		err = s.lostActivities(ctx, c, done)
	}
	if err == nil && cursor == "" && c.Only == nil {
		err = s.scrubRest(ctx, c, listenCursor, done)
	}
	return now, err
}

// isAfterRuns reports whether a cursor is behind all runs: in the listener index, or in the sets whose members name runs.
func isAfterRuns(cursor string) bool {
	return strings.HasPrefix(cursor, listenCursor) || strings.HasPrefix(cursor, strayCursor)
}

// scrubRest checks a page of the sets after all runs.
func (s *Store) scrubRest(ctx context.Context, c *store.Scrub, cursor string, done *store.Scrubbed) error {
	if after, listeners := strings.CutPrefix(cursor, listenCursor); listeners {
		if err := s.leftovers(ctx, c, after, done); err != nil || done.Cursor != "" {
			return err
		}
		cursor = ""
	}
	return s.strays(ctx, c, strings.TrimPrefix(cursor, strayCursor), done)
}

// repairAll repairs the errors of some runs, and returns the time. If the partition is adopted, runs that change concurrently are checked
// again, since none of them may keep its owner.
func (s *Store) repairAll(ctx context.Context, c *store.Scrub, entries []entry, done *store.Scrubbed) (time.Time, error) {
	partition := c.Partition
	for range maxAttempts {
		found, now, err := s.compared(ctx, c, entries, done)
		if err != nil {
			return now, err
		}
		b := s.newBatch(partition, len(found))
		var changes []*standing
		for n := range found {
			is, before := &found[n], b.changes
			if s.repair(b, is, now, done.Adopted); b.changes > before && !c.Check {
				changes = append(changes, is)
			} else {
				done.Repaired = append(done.Repaired, is.problems...)
			}
		}
		if c.Check {
			return now, nil
		}
		answers, err := s.applyAll(ctx, &s.scripts.applyFull, partition, b)
		if err != nil {
			return now, err
		}
		entries = nil
		for n, r := range answers {
			switch {
			case r.code == "OK":
				done.Repaired = append(done.Repaired, changes[n].problems...)
			case r.code == "CHANGED" && done.Adopted:
				entries = append(entries, changes[n].entry)
			}
		}
		if len(entries) == 0 {
			return now, nil
		}
	}
	return time.Time{}, fmt.Errorf("adopt partition %d: its runs change repeatedly", partition)
}

// compared reads the places and other errors of runs. Runs that lack activities are made ready immediately.
func (s *Store) compared(ctx context.Context, c *store.Scrub, entries []entry, done *store.Scrubbed) ([]standing, time.Time, error) {
	found, now, err := s.standings(ctx, c.Partition, entries)
	if err == nil {
		found, err = s.withoutEmpty(ctx, c, found, done)
	}
	if err != nil {
		return nil, now, err
	}
	err = errors.Join(s.missingEntries(ctx, c.Partition, found), s.misplacedActivities(ctx, c.Partition, found), s.scrubUnreadable(ctx, c, found, done))
	if err == nil {
		err = s.lackingActivities(ctx, c, found, done)
	}
	return slices.DeleteFunc(found, func(is standing) bool { return is.woken }), now, err
}

// standing is a run with its places.
type standing struct {
	entry
	kept
	problems                []string
	lacking                 error                            // the refusal of a run without a record; nil if it has one
	listed                  bool                             // it is among all still
	quarantined, unreadable bool                             // it is counted so
	retry                   store.Retry                      // the same
	missing                 [][]string                       // its entries that are missing in each of entrySets
	misplaced               []*listing                       // its misplaced activities
	lacks                   string                           // that it lacks activities, for people; empty if it does not
	woken                   bool                             // so that its owner schedules them again
	at                      map[store.Set]map[string]float64 // its members of each set, and their scores
}

// standings reads the places of runs, and their records, atomically; and the time.
func (s *Store) standings(ctx context.Context, partition int, entries []entry) ([]standing, time.Time, error) {
	if len(entries) == 0 {
		now, err := s.time(ctx, partition)
		return nil, now, err
	}
	k := &s.keys.partitions[partition]
	records, members := make([]*redis.SliceCmd, len(entries)), make([]string, len(entries))
	var quarantined, unreadable *redis.BoolSliceCmd
	scores := map[store.Set]*redis.FloatSliceCmd{}
	var retries *redis.FloatSliceCmd
	var listed *redis.XMessageSliceCmd
	var held *redis.ZSliceCmd
	var leases *redis.StringCmd
	now, err := s.timedEachIn(ctx, partition, s.ownPipeline((*redis.Client).TxPipeline), func(p redis.Pipeliner) {
		for n, e := range entries {
			members[n] = e.instance.String()
			records[n] = p.HMGet(ctx, k.instance(e.instance), fieldRecord, fieldMail)
		}
		quarantined, unreadable = p.SMIsMember(ctx, k.quarantined, asArguments(members)...), p.SMIsMember(ctx, k.unreadable, asArguments(members)...)
		for _, set := range store.Sets() {
			if set != store.SetHeld {
				scores[set] = p.ZMScore(ctx, k.sets[set], members...)
			}
		}
		retries = p.ZMScore(ctx, k.retrying, members...)
		held, leases = p.ZRangeWithScores(ctx, k.sets[store.SetHeld], 0, -1), p.Get(ctx, k.leases)
		listed = p.XRange(ctx, k.index, entries[0].id, entries[len(entries)-1].id)
	})
	if err == nil { // timedEachIn tolerates errors of a record, but an index is needed
		asked := []redis.Cmder{quarantined, unreadable, retries, held, listed, leases}
		for _, one := range scores {
			asked = append(asked, one)
		}
		err = firstOf(asked)
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("compare partition %d: %w", partition, err)
	}
	all, by, lasting := make([]standing, len(entries)), map[string]*standing{}, parseLeases(leases.Val())
	for n, e := range entries {
		all[n] = standing{entry: e, quarantined: quarantined.Val()[n], unreadable: unreadable.Val()[n], retry: store.Retry(retries.Val()[n]), at: map[store.Set]map[string]float64{store.SetHeld: {}}}
		by[e.id], by[members[n]] = &all[n], &all[n]
		all[n].kept = keptIn(records[n])
		if r := all[n].lifecycle; r != nil {
			r.Lease = lasting[r.Owner]
		}
		for set, of := range scores {
			if of.Val()[n] != 0 { // 0 is for a member that is not there
				all[n].at[set] = map[string]float64{members[n]: of.Val()[n]}
			}
		}
	}
	for _, z := range held.Val() {
		if i, _ := holdingOf(z.Member.(string)); by[i.String()] != nil {
			by[i.String()].at[store.SetHeld][z.Member.(string)] = z.Score
		}
	}
	for _, m := range listed.Val() {
		if by[m.ID] != nil {
			by[m.ID].listed = true
		}
	}
	return all, now, nil
}

func asArguments(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// wrong notes something that is wrong with a run.
func (is *standing) wrong(what string) {
	is.problems = append(is.problems, is.instance.String()+": "+what)
}

// repair puts a run in the place of its record, if it is elsewhere. It takes the run from its owner if the partition is adopted, or if the
// owner has no lease, whose end would never be seen.
func (s *Store) repair(b *batch, is *standing, now time.Time, adopted bool) {
	if is.lifecycle == nil || is.damaged != nil {
		return // scrubUnreadable reports it
	}
	if is.lifecycle.Held() && is.lifecycle.Lease.IsZero() {
		adopted = true
		is.wrong("was held by " + is.lifecycle.Owner + ", which has no lease")
	}
	subject := s.subject(is.instance)
	k := subject.keys
	b.begin(subject, is.text)
	to := *is.lifecycle
	if adopted {
		change, _ := store.Adoption().Transition(is.lifecycle, now) // it is there
		if to = change.To; to.String() != is.text {
			b.onInstance("HSET", fieldRecord, to.String())
		}
	}
	if is.quarantined != (to.Reason == store.Quarantined) {
		b.countQuarantined(subject, &to)
		is.wrong("whether it is quarantined was counted wrongly")
	}
	if is.retry != to.Retry() {
		b.countRetry(subject, to.Retry())
		is.wrong("whether it is tried again was counted wrongly")
	}
	b.addMissing(k, is)
	for _, l := range is.misplaced {
		b.replace(subject, is, l)
	}
	place, found := to.Place(), false
	right := member(is.instance, place)
	for set, members := range is.at {
		for m, score := range members {
			switch {
			case set != place.Set || m != right:
				b.do("ZREM", k.sets[set], m)
				is.wrong("stood in " + string(set))
			case score == scoreOf(place):
				found = true
			}
		}
	}
	if !found {
		b.do("ZADD", k.sets[place.Set], score(place), right)
		if _, misplaced := is.at[place.Set][right]; misplaced {
			is.wrong("stood at a wrong place in " + string(place.Set))
		} else {
			is.wrong("was missing in " + string(place.Set))
		}
	}
	b.dropEmpty()
}

// scoreOf returns the score of a place as it is read.
func scoreOf(at store.Place) float64 {
	if at.At.IsZero() {
		return math.Inf(1)
	}
	return float64(store.Millis(at.At))
}

// scan returns runs of a partition in the order of creation.
func (s *Store) scan(ctx context.Context, partition int, cursor string, n int) (all []entry, next string, err error) {
	from := "-"
	if cursor != "" {
		from = "(" + cursor
	}
	var found *redis.XMessageSliceCmd
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		found = p.XRangeN(ctx, s.keys.partitions[partition].index, from, "+", int64(n))
	})
	if err != nil {
		return nil, "", err
	}
	for _, m := range found.Val() {
		all = append(all, entry{m.ID, indexed(m)})
		next = m.ID
	}
	if len(all) < n {
		next = ""
	}
	return all, next, nil
}

// Drift implements store.Reader.
func (s *Store) Drift(ctx context.Context, c store.Drift) (store.Drifted, error) {
	k := &s.keys.partitions[c.Partition]
	keys := []any{k.time, k.index}
	for _, set := range store.Sets() {
		keys = append(keys, k.sets[set])
	}
	r, err := s.call(ctx, call{
		script: &s.scripts.page, partition: c.Partition, subject: "partition", keys: keys, args: []any{c.Compared, c.N, k.instances()},
	})
	if err != nil {
		return store.Drifted{}, err
	}
	entries, records := r.list(1), r.list(2)
	if len(r.values) != 5 || len(entries) != 2*len(records) {
		return store.Drifted{}, fmt.Errorf("%v is not an answer of page", r.values)
	}
	var found store.Drifted
	for n, record := range records {
		text, _ := entries[2*n+1].(string)
		at, _ := strconv.ParseFloat(text, 64) // the server has written it
		if !standsRight(store.Sets()[integer(r.values[0])-1], entries[2*n], at, record) {
			found.Wrong++
		}
	}
	all, instances := int(integer(r.values[3])), int(integer(r.values[4]))
	if found.Compared = c.Compared + len(records); found.Compared >= all {
		found.Compared = 0
	}
	if c.Compared == 0 { // lost entries, and duplicates
		found.Wrong += max(instances-all, all-instances)
	}
	return found, nil
}

// standsRight reports whether the place of a set's member is the place of its record.
func standsRight(set store.Set, m any, at float64, record any) bool {
	text, there := record.(string)
	is, err := store.ParseLifecycle(text)
	if !there || err != nil {
		return false
	}
	place, name := is.Place(), fmt.Sprint(m)
	return place.Set == set && name == member(instanceOf(name), place) && at == scoreOf(place)
}

// firstOf returns the error of the first command that has one.
func firstOf(commands []redis.Cmder) error {
	for _, one := range commands {
		if err := damage(one); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return nil
}
