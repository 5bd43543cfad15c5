package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// candidate is a run to be claimed, as it was read.
type candidate struct {
	*subject
	loaded store.Loaded
	inbox  []store.Message
	change *store.Change
	record rewrite
}

// Claim implements store.Store. It reads the runs, and then takes the unchanged ones.
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	candidates, now, err := s.candidates(ctx, &c)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	claimed, err := s.take(ctx, &s.scripts.apply, &c, candidates, now)
	if codeOf(err) != outOfMemory {
		return claimed, err
	}
	// Deadlines and cancels still apply: begun runs do not wait for memory.
	var begun []*candidate
	for _, one := range candidates {
		if one.change.Done || one.change.From.Begun {
			begun = append(begun, one)
		}
	}
	if len(begun) == 0 {
		return nil, err
	}
	return s.take(ctx, &s.scripts.applyFull, &c, begun, now)
}

// outOfMemory is the error code of a server whose memory is full.
const outOfMemory = "OOM"

// candidates reads the runs that can be claimed, and the time. Unreadable runs are put away.
func (s *Store) candidates(ctx context.Context, c *store.Claim) (all []*candidate, now time.Time, err error) {
	k := &s.keys.partitions[c.Partition]
	fields := make([]*redis.MapStringStringCmd, len(c.Instances))
	now, err = s.timedEach(ctx, c.Partition, func(p redis.Pipeliner) {
		for n, i := range c.Instances {
			fields[n] = p.HGetAll(ctx, k.instance(i))
		}
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read %d runs: %w", len(c.Instances), err)
	}
	for n, i := range c.Instances {
		values := fields[n].Val()
		l, err := readLoaded(values)
		if err == nil && l.Lifecycle.Status == "" {
			err = cmp.Or(onlyDamage(fields[n]), errNoRecord)
		}
		if err = cmp.Or(err, l.CheckForms(nil)); err != nil {
			if err := s.unreadable(ctx, found{c.Partition, i, values[fieldRecord], err, len(values) > 0}, c.Unreadable); err != nil {
				return nil, time.Time{}, err
			}
			continue
		}
		change, code := c.Transition(&l.Lifecycle, now)
		if code != "" {
			continue // it is not there to be claimed
		}
		to := s.subjectIn(c.Partition, i)
		all = append(all, &candidate{subject: to, loaded: l, change: change, record: rewrite{values[fieldRecord], change.To.String()}})
	}
	if all, err = s.readInboxes(ctx, c, all); err != nil {
		return nil, now, err
	}
	all, err = s.withoutNewer(ctx, c, all)
	return all, now, err
}

// readInboxes reads the messages of the candidates. A candidate that receives more messages concurrently is not claimed. It returns the
// candidates whose messages can be read.
func (s *Store) readInboxes(ctx context.Context, c *store.Claim, candidates []*candidate) ([]*candidate, error) {
	unread := slices.DeleteFunc(slices.Clone(candidates), func(one *candidate) bool { return !one.loaded.Lifecycle.Unread() })
	if len(unread) == 0 {
		return candidates, nil
	}
	inboxes := make([]*redis.StringSliceCmd, len(unread))
	err := s.tolerant(ctx, c.Partition, func(p redis.Pipeliner) {
		for n, one := range unread {
			inboxes[n] = p.LRange(ctx, one.keys.inbox(one.instance), 0, -1)
		}
	})
	if err != nil {
		return nil, err
	}
	for n, one := range unread {
		if damaged := onlyDamage(inboxes[n]); damaged != nil {
			candidates = slices.DeleteFunc(candidates, func(is *candidate) bool { return is == one })
			if err := s.unreadable(ctx, found{c.Partition, one.instance, one.record.from, damaged, true}, c.Unreadable); err != nil {
				return nil, err
			}
		}
		for _, m := range inboxes[n].Val() {
			one.inbox = append(one.inbox, store.Message(m))
		}
	}
	return candidates, nil
}

// take carries out the claims, and returns the successful ones.
func (s *Store) take(ctx context.Context, script *script, c *store.Claim, candidates []*candidate, now time.Time) (claimed []store.Claimed, err error) {
	b := s.newBatch(c.Partition, len(candidates))
	for _, one := range candidates {
		if !one.change.Done {
			s.write(b, one.subject, one.change, one.record)
		}
	}
	answers, err := s.applyAll(ctx, script, c.Partition, b)
	if err != nil {
		return nil, err
	}
	for _, one := range candidates {
		at := now
		if !one.change.Done {
			r := answers[0]
			if answers = answers[1:]; r.code != "OK" && !one.isTaken(r) {
				if damaged := damagedBy(r); damaged != nil {
					store.Unreadable{Instance: one.instance, Err: store.RefuseUnreadable(one.name, damaged, r.at)}.Tell(c.Unreadable)
				}
				continue
			}
			at = r.at // the owner before may have committed after the time was read
		}
		s.passed[c.Partition].Remove(one.instance)
		one.loaded.Lifecycle = one.change.To
		token := store.Token{Epoch: one.change.To.Epoch, Nonce: one.change.To.Nonce}
		s.records.keep(&ownRecord{subject: one.subject, token: token, lifecycle: one.change.To, text: one.record.to})
		claimed = append(claimed, store.Claimed{Instance: one.instance, Token: token, Loaded: one.loaded, Inbox: one.inbox, At: at})
	}
	return claimed, nil
}

// isTaken reports whether the claim has happened before, and only its answer was lost.
func (c *candidate) isTaken(r reply) bool {
	return r.code == "CHANGED" && len(r.values) == 2 && r.values[0] == c.record.to && integer(r.values[1]) == c.change.To.Mail
}

// putAway moves a run whose record cannot be read to a place where nothing is ever due. Scrub reports it. A run that was removed
// concurrently has no place. A run whose record has changed since, or that has started since, stays in its place, and is not f.here.
func (s *Store) putAway(ctx context.Context, f *found) error {
	k := &s.keys.partitions[f.partition]
	var there *redis.IntCmd
	var held *redis.StringSliceCmd
	err := s.pipelined(ctx, f.partition, func(p redis.Pipeliner) {
		there, held = p.Exists(ctx, k.instance(f.instance)), p.ZRange(ctx, k.sets[store.SetHeld], 0, -1)
	})
	if err != nil {
		return err
	}
	var moves [][]any
	for _, set := range []store.Set{store.SetNew, store.SetBegun, store.SetWaiting, store.SetClosed} {
		moves = append(moves, []any{"ZREM", k.sets[set], f.instance.String()})
	}
	for _, member := range held.Val() {
		if other, _ := holdingOf(member); other == f.instance {
			moves = append(moves, []any{"ZREM", k.sets[store.SetHeld], member})
		}
	}
	if there.Val() > 0 {
		moves = append(moves, []any{"ZADD", k.sets[store.SetWaiting], "+inf", f.instance.String()})
	}
	applied, err := s.correctly(ctx, s.subjectIn(f.partition, f.instance), f.record, moves)
	f.here = f.here && applied
	return err
}

// correctly runs commands, each with a name, a key and arguments, if a run has the record that was read. If the key of the run is of
// another type, or only its history is left, no run of this name can start, and the commands run in any case. It reports whether they ran.
func (s *Store) correctly(ctx context.Context, to *subject, record string, commands [][]any) (done bool, err error) {
	var r reply
	for _, expected := range []string{record, anyRecord} {
		b := s.newBatch(to.partition, 1)
		b.begin(to, expected)
		for _, c := range commands {
			b.do(c[0].(string), c[1], c[2:]...)
		}
		if r, err = s.send(ctx, &s.scripts.applyFull, to, b); !errors.As(err, new(*damagedKeyError)) {
			break
		}
	}
	return r.code == "OK", err
}
