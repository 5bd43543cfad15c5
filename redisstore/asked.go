package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// countCommit counts the requests of a commit. It is called before the commit, and counts once for each version of the run. A count for a
// commit that was not stored is therefore used by the next commit with the same number of requests; a commit with another number is counted
// in addition.
func (s *Store) countCommit(ctx context.Context, c *store.Commit) (before int64, err error) {
	return s.count(ctx, &c.Asked, c.Instance, fmt.Sprintf("asked %s %d %s %d", c.Instance, c.Version, c.Asked.Kind, c.Asked.N))
}

// countStart counts a start that no commit has counted. It comes before the start, and once for each run.
func (s *Store) countStart(ctx context.Context, c *store.Start) (before int64, err error) {
	return s.count(ctx, &c.Asked, c.Instance, fmt.Sprintf("started %s %s", c.Instance, c.Asked.Kind))
}

// count counts the requests of a run once per ID. It does so in the partition of the originating run, which may be on another server than
// the requesting run. It returns the number of earlier requests if the limit is exceeded.
func (s *Store) count(ctx context.Context, a *store.Asked, by store.Instance, id string) (before int64, err error) {
	if a.N == 0 {
		return 0, nil
	}
	n, k := s.of(a.Of)
	for range maxAttempts {
		now, err := s.time(ctx, n)
		if err != nil {
			return 0, err
		}
		key := k.family(a.Key(), store.Day(now))
		to := &subject{partition: n, name: "run " + a.Of.String(), hash: key, history: key}
		b := s.newBatch(n, 1)
		b.begin(to, anyRecord)
		b.check("SEEN", k.seen, id)
		b.check(string(store.TooMany), key, a.Max-a.N+1)
		b.do("REMEMBER", k.seen, id, 0)
		b.onInstance("COUNT", a.N)
		b.onInstance("PEXPIRE", 2*day)
		r, err := s.send(ctx, &s.scripts.applyFull, to, b)
		switch {
		case store.RefusedAs(err) != "": // the refusal concerns the other partition, and its workers handle it
			return 0, fmt.Errorf("count what %s asks for: %s", by, err)
		case err != nil || r.code == "SEEN":
			return 0, err
		case r.code == string(store.TooMany) && store.Day(r.at) != store.Day(now): // it was another day than this process knew
		case r.code == string(store.TooMany):
			return s.counted(ctx, n, key), refusal(r, to.name)
		default:
			return 0, refusal(r, to.name)
		}
	}
	return 0, errUnsettled(&subject{name: a.Of.String()})
}

// counted returns a number that a partition counts; 0 if it cannot be read.
func (s *Store) counted(ctx context.Context, partition int, key string) int64 {
	var text *redis.StringCmd
	if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { text = p.Get(ctx, key) }); err != nil {
		return 0
	}
	return number(text.Val())
}
