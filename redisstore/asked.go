package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// count counts what a commit asks for, where the run is that has led to it: that may be another server than the one of the run that commits. It comes before the
// commit, and once for each version of the run. So what is counted for a commit that does not happen then counts for the next one of as many; one of
// another number is counted besides. It returns how many were asked for before if that are too many.
func (s *Store) count(ctx context.Context, c *store.Commit) (before int64, err error) {
	if c.Asked.N == 0 {
		return 0, nil
	}
	n, k := s.of(c.Asked.Of)
	id := fmt.Sprintf("asked %s %d %s %d", c.Instance, c.Version, c.Asked.Kind, c.Asked.N)
	for range maxAttempts {
		now, err := s.time(ctx, n)
		if err != nil {
			return 0, err
		}
		key := k.family(c.Asked.Key(), store.Day(now))
		to := &subject{partition: n, name: "run " + c.Asked.Of.String(), hash: key, history: key}
		b := s.newBatch(n, 1)
		b.begin(to, anyRecord)
		b.check("SEEN", k.seen, id)
		b.check(string(store.TooMany), key, c.Asked.Max-c.Asked.N+1)
		b.do("REMEMBER", k.seen, id, 0)
		b.onInstance("COUNT", c.Asked.N)
		b.onInstance("PEXPIRE", 2*day)
		r, err := s.send(ctx, &s.scripts.applyFull, to, b)
		switch {
		case store.RefusedAs(err) != "": // it is about the other partition, which those who work there find out
			return 0, fmt.Errorf("count what %s asks for: %s", c.Instance, err)
		case err != nil || r.code == "SEEN":
			return 0, err
		case r.code == string(store.TooMany) && store.Day(r.at) != store.Day(now): // it was another day than this process knew
		case r.code == string(store.TooMany):
			return s.counted(ctx, n, key), refusal(r, to.name)
		default:
			return 0, refusal(r, to.name)
		}
	}
	return 0, errUnsettled(&subject{name: c.Asked.Of.String()})
}

// counted returns a number that a partition counts; 0 if it cannot be read.
func (s *Store) counted(ctx context.Context, partition int, key string) int64 {
	var text *redis.StringCmd
	if err := s.pipelined(ctx, partition, func(p redis.Pipeliner) { text = p.Get(ctx, key) }); err != nil {
		return 0
	}
	return number(text.Val())
}
