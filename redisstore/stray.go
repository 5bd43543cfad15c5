package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// isStray reports whether a member of a set of runs does not have the form that a store writes, and therefore was written by another
// program. It names no run.
func isStray(set store.Set, m string) bool {
	i, owner := holdingOf(m)
	return m != member(i, store.Place{Set: set, Owner: owner})
}

// firstMembers are the first members of a sorted set, as they were read.
type firstMembers struct {
	key  string
	read *redis.ZSliceCmd
	fits func(member string) bool // whether a store may have written a member
}

// removeStrays removes members that name nothing, from a server and from the data that was read, and reports whether others may follow
// them. They contain nothing that could be repaired, and in their places they would hide others from a poll. They count as repairs.
func (s *Store) removeStrays(ctx context.Context, partition int, lists []firstMembers) (removed bool, err error) {
	strays := map[string][]any{}
	for _, list := range lists {
		var rest []redis.Z
		for _, z := range list.read.Val() {
			if list.fits(z.Member.(string)) {
				rest = append(rest, z)
			} else {
				strays[list.key] = append(strays[list.key], z.Member)
			}
		}
		if len(strays[list.key]) > 0 {
			list.read.SetVal(rest)
		}
	}
	if len(strays) == 0 {
		return false, nil
	}
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		for key, all := range strays {
			p.ZRem(ctx, key, all...)
			p.HIncrBy(ctx, s.keys.partitions[partition].meta, "repairs", int64(len(all)))
		}
	})
	if refusesWrites(err) {
		return false, nil
	}
	return err == nil, err
}

// withoutStrays removes the entries of an index that name no run, from a server and from a page. Each counts as a repair.
func (s *Store) withoutStrays(ctx context.Context, c *store.Scrub, page []entry, done *store.Scrubbed) ([]entry, error) {
	var strays []string
	k := &s.keys.partitions[c.Partition]
	page = slices.DeleteFunc(page, func(e entry) bool {
		if e.instance != (store.Instance{}) {
			return false
		}
		strays = append(strays, e.id)
		return true
	})
	if c.Only != nil || len(strays) == 0 {
		return page, nil
	}
	for _, id := range strays {
		done.Repaired = append(done.Repaired, fmt.Sprintf("the entry %s of the key %s named no run", id, k.index))
	}
	if c.Check {
		return page, nil
	}
	return page, s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) { p.XDel(ctx, k.index, strays...) })
}

// strayCursor is the prefix of the cursors of Scrub in a memberSet. These sets are checked after the listener index.
const strayCursor = "strays "

// memberSet is a set or a sorted set of a partition whose members name runs.
type memberSet struct {
	key    string
	sorted bool
	// fits reports whether a store may have written a member, and returns the run that it names.
	fits func(member string) (store.Instance, bool)
	// lasts reports that a member may name a run that was removed.
	lasts bool
}

func namesRun(m string) (store.Instance, bool) {
	i := instanceOf(m)
	return i, m == i.String()
}

func namesActivity(m string) (store.Instance, bool) {
	id, err := store.ParseActivityID(m)
	return id.Run, err == nil
}

func isActivity(m string) bool {
	_, named := namesActivity(m)
	return named
}

// memberSets returns the sets of a partition, by their keys.
func (s *Store) memberSets(ctx context.Context, partition int) ([]memberSet, error) {
	k := &s.keys.partitions[partition]
	all := []memberSet{
		{key: k.quarantined, fits: namesRun}, {key: k.notices, fits: namesRun}, {key: k.unreadable, fits: namesRun, lasts: true},
		{key: k.retrying, fits: namesRun, sorted: true}, {key: k.activities, fits: namesActivity, sorted: true},
		{key: k.needs, sorted: true, fits: func(m string) (store.Instance, bool) {
			need, i := store.ParseNeedEntry(m)
			return i.Instance, need != ""
		}},
	}
	for _, set := range store.Sets() {
		all = append(all, memberSet{key: k.sets[set], sorted: true, fits: func(m string) (store.Instance, bool) { return instanceOf(m), !isStray(set, m) }})
	}
	queues, err := s.queues(ctx, partition, nil)
	for _, q := range queues {
		all = append(all, memberSet{key: k.queue(q), fits: namesActivity, sorted: true})
	}
	slices.SortFunc(all, func(a, b memberSet) int { return cmp.Compare(a.key, b.key) })
	return all, err
}

// strays checks members of the sets of a partition after a cursor, and removes members that name no run of the partition. It stops after
// the requested number of members.
func (s *Store) strays(ctx context.Context, c *store.Scrub, cursor string, done *store.Scrubbed) error {
	sets, err := s.memberSets(ctx, c.Partition)
	if err != nil {
		return err
	}
	within, from, _ := strings.Cut(cursor, " ")
	at, _ := strconv.ParseUint(within, 10, 64) // an earlier call has written it
	looked := 0
	for _, set := range sets {
		if set.key < from {
			continue
		}
		if set.key != from {
			at = 0
		}
		for again := true; again; again = at != 0 {
			if looked >= c.N {
				done.Cursor = fmt.Sprint(strayCursor, at, " ", set.key)
				return nil
			}
			members, next, err := s.scanMembers(ctx, c.Partition, set, at, c.N-looked)
			if err == nil {
				err = s.removeStray(ctx, c, set, members, done)
			}
			if err != nil {
				return err
			}
			at, looked = next, looked+len(members)
		}
	}
	return nil
}

// scanMembers reads about n members of a set, and returns the position of the next ones; 0 after the last ones.
func (s *Store) scanMembers(ctx context.Context, partition int, set memberSet, at uint64, n int) (members []string, next uint64, err error) {
	var scanned *redis.ScanCmd
	err = s.pipelined(ctx, partition, func(p redis.Pipeliner) {
		if set.sorted {
			scanned = p.ZScan(ctx, set.key, at, "", int64(n))
		} else {
			scanned = p.SScan(ctx, set.key, at, "", int64(n))
		}
	})
	if err != nil {
		return nil, 0, err
	}
	read, next := scanned.Val()
	for n := 0; n < len(read); n++ {
		members = append(members, read[n])
		if set.sorted {
			n++ // the next element is its score
		}
	}
	return members, next, nil
}

// stray is a member of a set, as it was read at one moment.
type stray struct {
	member string
	run    store.Instance
	here   bool // it may name a run of the partition
	stands redis.Cmder
	exists *redis.IntCmd // the run
}

// removeStray removes the members that name no run. If a run of that name began concurrently, its member remains.
func (s *Store) removeStray(ctx context.Context, c *store.Scrub, set memberSet, members []string, done *store.Scrubbed) error {
	all, err := s.straysOf(ctx, c.Partition, set, members)
	if err != nil || len(all) == 0 {
		return err
	}
	b, remove := s.newBatch(c.Partition, len(all)), "SREM"
	if set.sorted {
		remove = "ZREM"
	}
	var named []stray
	var others []any
	tell := func(l stray) {
		name := strings.TrimPrefix(set.key, s.keys.partitions[c.Partition].prefix)
		done.Repaired = append(done.Repaired, fmt.Sprintf("%q stood in %s, and names no run", l.member, name))
	}
	for _, l := range all {
		switch {
		case c.Check:
			tell(l)
		case l.here:
			b.begin(s.subject(l.run), noRecord)
			b.do(remove, set.key, l.member)
			named = append(named, l)
		default:
			others = append(others, l.member)
			tell(l)
		}
	}
	answers, err := s.applyAll(ctx, &s.scripts.applyFull, c.Partition, b)
	for n, r := range answers {
		if r.code == "OK" {
			tell(named[n])
		}
	}
	if err != nil || len(others) == 0 {
		return err
	}
	return s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) { p.Do(ctx, slices.Concat([]any{remove, set.key}, others)...) })
}

// straysOf returns the members that name no run. Each is compared atomically: a run that is removed takes its members with it.
func (s *Store) straysOf(ctx context.Context, partition int, set memberSet, members []string) ([]stray, error) {
	if len(members) == 0 {
		return nil, nil
	}
	all := make([]stray, len(members))
	err := s.exchange(ctx, partition, s.ownPipeline((*redis.Client).TxPipeline), func(p redis.Pipeliner) {
		for n, m := range members {
			l := &all[n]
			i, fits := set.fits(m)
			l.member, l.run, l.here = m, i, fits && i.Check() == nil && i.Partition(s.layout.Partitions) == partition
			if l.exists = p.Exists(ctx, s.keys.partitions[partition].instance(i)); set.sorted {
				l.stands = p.ZScore(ctx, set.key, m)
			} else {
				l.stands = p.SMIsMember(ctx, set.key, m)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("compare the members of %s: %w", set.key, err)
	}
	return slices.DeleteFunc(all, func(l stray) bool {
		if l.here && (set.lasts || l.exists.Val() > 0) {
			return true
		}
		among, isSet := l.stands.(*redis.BoolSliceCmd)
		return l.stands.Err() != nil || isSet && !among.Val()[0] // it was removed concurrently
	}), nil
}
