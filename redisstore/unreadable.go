package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

var errNoRecord = errors.New("it has no record")

// isWrongType reports whether a server found a key of another type than the command expects: another program has overwritten it.
func isWrongType(err error) bool { return codeOf(err) == "WRONGTYPE" }

// tolerant is pipelined; that a key has another type than its command wants is an error of that command alone.
func (s *Store) tolerant(ctx context.Context, partition int, f func(redis.Pipeliner)) error {
	judge := func(commands []redis.Cmder, failed error) error {
		rest := slices.DeleteFunc(slices.Clone(commands), func(c redis.Cmder) bool { return isWrongType(c.Err()) })
		if isWrongType(failed) {
			failed = nil
		}
		return firstError(rest, failed)
	}
	return s.exchange(ctx, partition, s.judgedPipeline((*redis.Client).Pipeline, judge), f)
}

// found is a run that cannot be read, or is not there.
type found struct {
	partition int
	instance  store.Instance
	record    string // as it was read; empty if there is none
	why       error
	here      bool // something of it is there
}

// unreadable puts away a run that cannot be read or is missing. An unreadable run is counted and reported. A run written by a newer build
// stays in its place.
func (s *Store) unreadable(ctx context.Context, f found, whom func(store.Unreadable)) error {
	refused := store.RefuseUnreadable("run "+f.instance.String(), f.why, time.Time{})
	if store.RefusedAs(refused) != store.Newer {
		if err := s.putAway(ctx, &f); err != nil || !f.here {
			return err
		}
	} else {
		s.passed[f.partition].Add(f.instance)
	}
	store.Unreadable{Instance: f.instance, Err: refused}.Tell(whom)
	return s.pipelined(ctx, f.partition, func(p redis.Pipeliner) {
		p.SAdd(ctx, s.keys.partitions[f.partition].unreadable, f.instance.String())
	})
}

// withoutNewer returns the candidates whose inboxes this build can read.
func (s *Store) withoutNewer(ctx context.Context, c *store.Claim, all []*candidate) (rest []*candidate, err error) {
	for _, one := range all {
		newer := one.loaded.CheckForms(one.inbox)
		if newer == nil {
			rest = append(rest, one)
		} else if err := s.unreadable(ctx, found{c.Partition, one.instance, one.record.from, newer, true}, c.Unreadable); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// readable reports why something of a run cannot be read.
func (s *Store) readable(ctx context.Context, i store.Instance) error {
	l, err := s.Load(ctx, i)
	if err != nil {
		return err
	}
	inbox, err := s.Inbox(ctx, i, int(max(0, l.Lifecycle.Mail-l.Lifecycle.Read)))
	return cmp.Or(err, l.CheckForms(inbox))
}

// whyUnreadable returns the refusal of a run that cannot be read; nil if it can be read, or is gone.
func (s *Store) whyUnreadable(ctx context.Context, is *standing) (refusal, err error) {
	name := "run " + is.instance.String()
	if is.lacking != nil || is.damaged != nil {
		return cmp.Or(is.lacking, is.refusal(name)), nil
	}
	if !is.unreadable {
		return nil, nil
	}
	why := s.readable(ctx, is.instance) // a part of it may have been damaged
	a, known := s.Diagnose(why)
	switch {
	case why == nil, store.RefusedAs(why) == store.NoSuch:
		return nil, nil
	case store.IsUnreadable(why):
		return why, nil
	case known && !a.Partial:
		return nil, why
	}
	return store.RefuseUnreadable(name, why, time.Time{}), nil
}

// scrubUnreadable counts the runs of a page that cannot be read, and takes those out of the count that can be, or are gone.
func (s *Store) scrubUnreadable(ctx context.Context, c *store.Scrub, page []standing, done *store.Scrubbed) error {
	var bad, good []any
	for n := range page {
		is := &page[n]
		why, err := s.whyUnreadable(ctx, is)
		if err != nil {
			return err
		}
		if why == nil {
			if is.unreadable {
				good = append(good, is.instance.String())
			}
			continue
		}
		done.Unreadable = append(done.Unreadable, store.Unreadable{Instance: is.instance, Err: why})
		bad = append(bad, is.instance.String())
	}
	if c.Check || len(bad)+len(good) == 0 {
		return nil
	}
	key := s.keys.partitions[c.Partition].unreadable
	return s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		if len(bad) > 0 {
			p.SAdd(ctx, key, bad...)
		}
		if len(good) > 0 {
			p.SRem(ctx, key, good...)
		}
	})
}
