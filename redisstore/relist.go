package redisstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// The list of a kind names the entries of the registry. An entry that its list does not name can be read by its key, but it is in no list:
// its rule, schedule or token has no effect, or cannot be seen. No transition of a store causes this; it results from manual changes.

// keysScanned is how many keys of a server one call compares.
const keysScanned = 10_000

// unlisted is an entry of the registry with its place in the list of its kind.
type unlisted struct {
	kind      store.RegistryKind
	name      string
	partition int
	at        float64 // score in the list
	there     bool    // the entry
}

// scrubRegistry compares the entries on the server of a partition with the lists of their kinds. The entries of a single server are compared
// with its first partition.
func (s *Store) scrubRegistry(ctx context.Context, c *store.Scrub) (done store.Scrubbed, err error) {
	if err := s.overwrittenLists(ctx, c, &done); err != nil {
		return done, err
	}
	from, _ := strconv.ParseUint(c.Cursor, 10, 64) // an earlier call has written it
	pattern := s.keys.entriesOf("*")
	if s.cluster != nil {
		pattern = s.keys.entriesOf(strconv.Itoa(c.Partition))
	}
	var scanned *redis.ScanCmd
	if err := s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) { scanned = p.Scan(ctx, from, pattern, keysScanned) }); err != nil {
		return done, err
	}
	keys, next := scanned.Val()
	if next > 0 {
		done.Cursor = strconv.FormatUint(next, 10)
	}
	for _, key := range keys {
		e, listed := s.listedEntry(key)
		if !listed || s.cluster != nil && e.partition != c.Partition {
			continue
		}
		wrong, err := s.relist(ctx, &e, c.Check)
		if err != nil {
			return done, err
		}
		if wrong != "" {
			done.Repaired = append(done.Repaired, e.kind.EntryName(e.name)+" "+wrong)
		}
	}
	if len(done.Repaired) == 0 || c.Check {
		return done, nil
	}
	return done, s.pipelined(ctx, c.Partition, func(p redis.Pipeliner) {
		p.HIncrBy(ctx, s.keys.partitions[c.Partition].meta, "repairs", int64(len(done.Repaired)))
	})
}

// listedEntry returns the entry of a key, and whether its kind has a list.
func (s *Store) listedEntry(key string) (e unlisted, listed bool) {
	_, rest, _ := strings.Cut(key, "}:e:")
	kind, name, _ := strings.Cut(rest, ":")
	e.kind, e.name = store.RegistryKind(kind), name
	if e.kind.CheckKey(name) != nil || !e.kind.Listed() {
		return e, false
	}
	partition, k := s.registryOf(e.kind, name)
	e.partition = partition
	return e, key == k.registered(e.kind, name)
}

// relist adds an entry to the list of its kind if it is missing there, or would leave it too early, and returns what was wrong. A damaged
// entry is listed without an end: users replace or remove what they see.
func (s *Store) relist(ctx context.Context, e *unlisted, check bool) (wrong string, err error) {
	k := &s.keys.partitions[e.partition]
	key, list := k.registered(e.kind, e.name), k.registeredBy(e.kind)
	n, err := s.node(ctx, e.partition)
	if err != nil {
		return "", err
	}
	err = n.client.Watch(ctx, func(tx *redis.Tx) error {
		now, err := s.time(ctx, e.partition)
		if err != nil {
			return err
		}
		if err := e.read(ctx, tx, key, now); err != nil || !e.there {
			return err
		}
		if wrong, err = e.compare(ctx, tx, list); wrong == "" || check {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.ZAdd(ctx, list, redis.Z{Score: e.at, Member: e.name}).Err()
		})
		return err
	}, key, list)
	if errors.Is(err, redis.TxFailedErr) { // it changed concurrently: register lists it
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("compare the list of %s: %w", e.kind, err)
	}
	return wrong, nil
}

// headSize is more than what precedes the value of an entry: its version, its end and an id.
const headSize = 128

// read reads when an entry ends, and whether it is there.
func (e *unlisted) read(ctx context.Context, tx redis.Cmdable, key string, now time.Time) error {
	e.at = math.Inf(1)
	head, err := tx.GetRange(ctx, key, 0, headSize).Result()
	if isWrongType(err) {
		e.there = true
		return nil
	}
	if e.there = head != ""; err != nil || !e.there {
		return err
	}
	parts := strings.SplitN(head, " ", 4)
	if len(parts) == 4 && number(parts[0]) > 0 && number(parts[1]) > 0 {
		e.at = float64(number(parts[1]))
		e.there = e.at > float64(store.Millis(now))
	}
	return nil
}

// compare returns the error in the place of the entry in its list; an empty text if it is right.
func (e *unlisted) compare(ctx context.Context, tx *redis.Tx, list string) (wrong string, err error) {
	at, err := tx.ZScore(ctx, list, e.name).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "was missing in its list", nil
	case err == nil && at < e.at:
		return "had too early an end in its list", nil
	case isWrongType(err): // overwrittenLists reports it
		return "", nil
	}
	return "", err
}
