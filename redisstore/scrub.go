package redisstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// entry is a run's place in the list of all.
type entry struct {
	id       string
	instance store.Instance
}

// Scrub implements store.Store.
func (s *Store) Scrub(ctx context.Context, c store.Scrub) (store.Scrubbed, error) {
	var done store.Scrubbed
	k := &s.keys.partitions[c.Partition]
	if c.Adopt {
		r, err := s.call(ctx, call{
			script: &s.scripts.adopt, partition: c.Partition, subject: "partition",
			keys: []any{k.time, k.meta, k.leases}, args: []any{flag(c.Loss), rand.Uint64()},
		})
		if err != nil {
			return done, err
		}
		done.Adopted = integer(r.values[0]) == 1
	}
	entries, cursor, err := s.scan(ctx, c.Partition, c.Cursor, c.N)
	if err != nil {
		return done, err
	}
	done.Cursor, done.Compared = cursor, len(entries)
	found, now, err := s.standings(ctx, c.Partition, entries)
	if err != nil {
		return done, err
	}
	b := s.newBatch(c.Partition, len(found))
	for n := range found {
		s.repair(b, &found[n], now, done.Adopted, &done.Repaired)
	}
	if done.Adopted {
		done.Repaired = nil // the loss explains them
	}
	if _, err := s.applyAll(ctx, &s.scripts.applyFull, c.Partition, b); err != nil {
		return done, err
	}
	return done, s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		p.ZRemRangeByScore(ctx, k.seen, "-inf", "("+strconv.FormatInt(store.Millis(now.Add(-store.Remembered)), 10))
		if n := len(done.Repaired); n > 0 {
			p.HIncrBy(ctx, k.meta, "repairs", int64(n))
		}
	})
}

// standing is a run, and where it stands.
type standing struct {
	entry
	kept
	listed bool                             // it is among all still
	at     map[store.Set]map[string]float64 // its members of each set, and their scores
}

// standings reads where runs stand, and their records, at one moment; and what time it is.
func (s *Store) standings(ctx context.Context, partition int, entries []entry) ([]standing, time.Time, error) {
	if len(entries) == 0 {
		now, err := s.time(ctx, partition)
		return nil, now, err
	}
	k := &s.keys.partitions[partition]
	records, members := make([]*redis.SliceCmd, len(entries)), make([]string, len(entries))
	scores := map[store.Set]*redis.FloatSliceCmd{}
	var listed *redis.XMessageSliceCmd
	var held *redis.ZSliceCmd
	now, err := s.timedIn(ctx, partition, s.ownPipeline((*redis.Client).TxPipeline), func(p redis.Pipeliner) {
		for n, e := range entries {
			members[n] = e.instance.String()
			records[n] = p.HMGet(ctx, k.instance(e.instance), fieldRecord, fieldMail)
		}
		for _, set := range store.Sets() {
			if set != store.SetHeld {
				scores[set] = p.ZMScore(ctx, k.sets[set], members...)
			}
		}
		held = p.ZRangeWithScores(ctx, k.sets[store.SetHeld], 0, -1)
		listed = p.XRange(ctx, k.index, entries[0].id, entries[len(entries)-1].id)
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("compare partition %d: %w", partition, err)
	}
	all, by := make([]standing, len(entries)), map[string]*standing{}
	for n, e := range entries {
		all[n] = standing{entry: e, at: map[store.Set]map[string]float64{store.SetHeld: {}}}
		by[e.id], by[members[n]] = &all[n], &all[n]
		if values := records[n].Val(); len(values) == 2 {
			all[n].kept = newKept(values[0], values[1])
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

// repair puts a run where its record says, if it stands elsewhere, and takes it from its owner if the
// partition is adopted. It appends what was wrong to problems.
func (s *Store) repair(b *batch, is *standing, now time.Time, adopted bool, problems *[]string) {
	name := is.instance.String()
	if is.lifecycle == nil || is.damaged != nil {
		if is.listed { // otherwise it has been removed meanwhile
			*problems = append(*problems, name+": its record cannot be read")
		}
		return
	}
	subject := s.subject(is.instance, store.Token{})
	k := subject.keys
	b.begin(subject, is.text)
	to := *is.lifecycle
	if adopted {
		change, _ := store.Adoption().Transition(is.lifecycle, now) // it is there
		if to = change.To; to.String() != is.text {
			b.onInstance("HSET", fieldRecord, to.String())
		}
	}
	place, found := to.Place(), false
	right := member(is.instance, place)
	for set, members := range is.at {
		for m, score := range members {
			switch {
			case set != place.Set || m != right:
				b.do("ZREM", k.sets[set], m)
				*problems = append(*problems, name+": stood in "+string(set))
			case score == scoreOf(place):
				found = true
			}
		}
	}
	if !found {
		b.do("ZADD", k.sets[place.Set], score(place), right)
		if _, misplaced := is.at[place.Set][right]; misplaced {
			*problems = append(*problems, name+": stood at a wrong place in "+string(place.Set))
		} else {
			*problems = append(*problems, name+": was missing in "+string(place.Set))
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
		all = append(all, entry{m.ID, instanceOf(m.Values["i"].(string))})
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
	if c.Compared == 0 { // what is lost, and what stands twice
		found.Wrong += max(instances-all, all-instances)
	}
	return found, nil
}

// standsRight reports whether a member of a set stands where the record of its instance says.
func standsRight(set store.Set, m any, at float64, record any) bool {
	is, name := newKept(record, nil), fmt.Sprint(m)
	if is.lifecycle == nil || is.damaged != nil {
		return false
	}
	place := is.lifecycle.Place()
	return place.Set == set && name == member(instanceOf(name), place) && at == scoreOf(place)
}
