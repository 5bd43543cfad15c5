package redisstore

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// damagedKeys remembers the keys that operations have found damaged, until they are well again: nothing else looks at all keys.
type damagedKeys struct {
	mu  sync.Mutex
	all map[string]foundDamage
}

// foundDamage is a damaged key with the error of the operation that found it.
type foundDamage struct {
	partition int
	err       *damagedKeyError
}

// maxDamagedKeys limits the number of remembered keys: one is enough to report that the store is damaged.
const maxDamagedKeys = 10

// note remembers the key of a partition that an error names, if it names one.
func (d *damagedKeys) note(partition int, err error) {
	var damaged *damagedKeyError
	if !errors.As(err, &damaged) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]foundDamage{}
	}
	if len(d.all) < maxDamagedKeys {
		d.all[damaged.key] = foundDamage{partition, damaged}
	}
}

func (d *damagedKeys) found() map[string]foundDamage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.all)
}

func (d *damagedKeys) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, key)
}

// stillDamaged returns the damaged keys that operations have found and that are damaged still.
func (s *Store) stillDamaged(ctx context.Context) (all []store.Ailment) {
	known := s.damaged.found()
	for _, key := range slices.Sorted(maps.Keys(known)) {
		found := known[key]
		n, err := s.node(ctx, found.partition)
		if err != nil {
			continue
		}
		var is *redis.StatusCmd
		var text *redis.StringCmd
		_, _ = n.client.Pipelined(ctx, func(p redis.Pipeliner) error { // the value of another type is an error
			is, text = p.Type(ctx, key), p.Get(ctx, key)
			return nil
		})
		if of := &s.keys.partitions[found.partition]; is.Err() == nil && (is.Val() == "none" || of.fits(key, is.Val(), text.Val())) {
			s.damaged.forget(key)
			continue
		}
		all = append(all, store.Ailment{Reason: store.Damaged, Minor: true, Partial: true, What: found.err.Error(), Fix: found.err.fix()})
	}
	return all
}
